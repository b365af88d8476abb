// The landing page: questions with their verdicts, newest first; running jobs on top.
import { get, post, setToken, token } from '../api.js';
import { go, show, typed } from '../navigation.js';
import { commonScale, intervalBar } from '../charts/interval_bar.js';
import { h } from '../dom.js';
import { duration, percent, words } from '../format.js';
import {
  badge,
  command,
  effect,
  empty,
  experimentLink,
  machineName,
  progressBar,
  table,
  time,
} from '../parts.js';

const FILTERS = ['verdict', 'state', 'owner', 'metric', 'host', 'q', 'suite', 'before'];
const VERDICTS = ['accept', 'reject', 'inconclusive', 'invalid'];

function address(query, changes) {
  const next = new URLSearchParams();
  for (const key of FILTERS) {
    const value = key in changes ? changes[key] : query.get(key);
    if (value) next.set(key, value);
  }
  const text = next.toString();
  return text ? `/?${text}` : '/';
}

export function timeLeft(row) {
  if (!row.began_at || !row.pairs_done) return '';
  const seconds = (Date.now() - Date.parse(row.began_at)) / 1000;
  const left = (seconds / row.pairs_done) * (row.pairs_max - row.pairs_done);
  return left > 0 ? `at most ${duration(left)} left` : '';
}

export function runningRow(row, hosts) {
  const soFar = row.progress ?? {};
  const known = Number.isFinite(soFar.effect);
  return h(
    'article',
    { class: 'run' },
    h(
      'div',
      null,
      h('p', { class: 'claim' }, badge('', row.state), ' ', experimentLink(row.id, row.claim)),
      h(
        'p',
        { class: 'dim small' },
        row.id,
        ' · ',
        row.owner,
        ' · ',
        row.host ? machineName(row.host, hosts) : 'no host yet',
        row.cancel_asked ? ' · stopping' : '',
      ),
    ),
    h(
      'div',
      { class: 'live-line' },
      known
        ? [effect(soFar), intervalBar(soFar, commonScale([soFar]), 'so far')]
        : h('span', { class: 'dim' }, 'no interval yet'),
    ),
    h(
      'div',
      null,
      progressBar(row.pairs_done, row.pairs_max, `pairs of ${row.id}`),
      h(
        'p',
        { class: 'dim small' },
        `pair ${row.pairs_done} of at most ${row.pairs_max}`,
        timeLeft(row) ? ` · ${timeLeft(row)}` : '',
      ),
    ),
  );
}

function chips(query) {
  const now = query.get('verdict') ?? '';
  return h(
    'div',
    { class: 'chips', role: 'group', 'aria-label': 'Verdict' },
    h(
      'a',
      {
        href: address(query, { verdict: '', before: '' }),
        class: now ? null : 'on',
        'aria-current': now ? null : 'true',
      },
      'all',
    ),
    VERDICTS.map((verdict) =>
      h(
        'a',
        {
          href: address(query, { verdict, before: '' }),
          class: now === verdict ? 'on' : null,
          'aria-current': now === verdict ? 'true' : null,
        },
        verdict,
      ),
    ),
    h(
      'a',
      {
        href: address(query, { suite: query.get('suite') ? '' : '1', before: '' }),
        class: query.get('suite') ? 'on' : null,
        'aria-current': query.get('suite') ? 'true' : null,
        title: 'Runs of the standing suite are listed under Trends',
      },
      'with suite runs',
    ),
  );
}

function filterBar(query) {
  const field = (key, label, type = 'text') =>
    h(
      'label',
      null,
      h('span', null, label),
      h('input', {
        id: `filter-${key}`,
        type,
        value: query.get(key) ?? '',
        autocomplete: 'off',
        oninput: typed((value) =>
          go(address(new URLSearchParams(location.search), { [key]: value, before: '' }), true),
        ),
      }),
    );
  return h(
    'form',
    { class: 'filters', role: 'search', onsubmit: (event) => event.preventDefault() },
    chips(query),
    field('q', 'Search', 'search'),
    field('owner', 'Owner'),
    field('metric', 'Metric'),
    field('host', 'Machine'),
  );
}

function verdictTable(rows, hosts) {
  const scale = commonScale(rows);
  return table(
    [
      {
        head: 'Verdict',
        cell: (row) => [
          badge(row.verdict, row.state),
          row.reason ? h('span', { class: 'reason' }, words(row.reason)) : null,
        ],
      },
      {
        head: 'Question',
        class: 'wide',
        cell: (row) => [
          h('div', { class: 'claim' }, experimentLink(row.id, row.claim || row.id)),
          h('div', { class: 'dim small' }, row.id, ' · ', row.owner),
        ],
      },
      {
        head: 'Effect',
        number: true,
        cell: (row) => (Number.isFinite(row.effect) ? effect(row) : null),
      },
      {
        head: percent(-scale, 0) + ' … ' + percent(scale, 0),
        cell: (row) => (Number.isFinite(row.effect) ? intervalBar(row, scale) : null),
      },
      { head: 'Metric', cell: (row) => (row.metric ? h('code', null, row.metric) : null) },
      { head: 'Machine', class: 'dim', cell: (row) => machineName(row.host, hosts) },
      {
        head: 'Decided',
        class: 'dim nowrap',
        cell: (row) => time(row.decided_at || row.submitted_at),
      },
    ],
    rows,
    { class: 'verdicts', label: 'Experiments, newest first', focusable: false },
  );
}

function strip(data) {
  const waiting = data.queue.filter((row) => row.state === 'queued');
  const running = data.queue.some((row) => row.state === 'running');
  return h(
    'p',
    { class: 'dim strip' },
    running ? '' : 'No job running · ',
    h('a', { href: '/q' }, `${waiting.length} queued`),
    ' · ',
    h('a', { href: '/hosts' }, `${data.hosts.length} ${data.hosts.length === 1 ? 'host' : 'hosts'}`),
    data.hosts
      .slice(0, 3)
      .flatMap((host) =>
        host.noise
          .slice(0, 1)
          .map(
            (noise) =>
[
              ' · ',
              machineName(host.name, data.hosts),
              `: noise (A/A, σ) ${percent(noise.sigma_d).replace('+', '')} (${noise.metric})`,
            ],
          ),
      ),
  );
}

const wait = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

// Imports the shipped records by one click, for a token with scope admin.
function shippedImport(shipped) {
  if (!shipped.records) return null;
  const said = h('span', { role: 'status', class: 'small' });
  const secret = h('input', { id: 'import-token', type: 'password', autocomplete: 'off' });
  const asking = h(
    'label',
    { class: 'offscreen', hidden: true },
    h('span', null, 'Token with scope admin'),
    secret,
  );
  const begin = async (event) => {
    event.preventDefault();
    if (secret.value) setToken(secret.value);
    const button = document.getElementById('import-shipped');
    button.disabled = true;
    try {
      let state = await post('/api/shipped/import', '{}');
      while (state.state === 'running') {
        said.textContent = `${state.read + state.refused} of ${state.records} records read`;
        await wait(500);
        state = await get('/shipped.json');
      }
      if (state.state === 'done') {
        await wait(600); // the list is shared for half a second
        show();
        return;
      }
      said.textContent = `${state.trouble}. Where the database lies: steady import --shipped`;
    } catch (error) {
      if (error.status === 401 || error.status === 403) {
        asking.hidden = false;
        asking.classList.remove('offscreen');
        secret.focus();
      }
      said.textContent =
        error.status === 401
          ? 'A token with scope admin is needed: steady token create NAME --scopes admin'
          : error.message;
    }
    button.disabled = false;
  };
  return h(
    'form',
    { class: 'triage', onsubmit: begin },
    token() ? null : asking,
    h(
      'button',
      { type: 'submit', id: 'import-shipped' },
      `Import all ${shipped.records} records`,
    ),
    said,
  );
}

// An empty database explains itself: what would stand here, and three ways to see it.
function firstVisit(shipped) {
  return h(
    'article',
    { class: 'card first-visit' },
    h('h2', null, 'No experiment yet'),
    h(
      'p',
      null,
      'Steady decides whether a change makes a program faster. A question names two arms; both run ' +
        'in pairs, in random order, until the evidence is clear. Its verdict appears here, with the ' +
        'effect, its interval and every pair behind it.',
    ),
    h('p', null, 'Read the verdicts that come with Steady:'),
    shippedImport(shipped),
    command('steady import --shipped'),
    h('p', null, 'Ask a small question of this machine:'),
    command('steady demo'),
    h('p', null, 'Compare two commands:'),
    command("steady ab 'COMMAND A' 'COMMAND B'"),
    h('p', null, 'Or ', h('a', { href: '/submit' }, 'submit a question'), ' to a worker.'),
  );
}

export default {
  title: () => 'Verdicts',
  cli: () => 'steady journal --json',
  every: 2000,
  busy: () => Boolean(document.activeElement?.closest('.first-visit')),
  load: async ([], query, signal) => {
    const asked = new URLSearchParams();
    for (const key of FILTERS) if (query.get(key)) asked.set(key, query.get(key));
    const data = await get(`/index.json?${asked}`, signal);
    const first = !data.rows.length && ![...asked.keys()].length;
    return first ? { ...data, shipped: await get('/shipped.json', signal) } : data;
  },
  draw: (data, params, query) => {
    const running = data.queue.filter((row) => row.state === 'running');
    // Experiments without a verdict are listed above, unless they are asked for.
    const rows = query.get('state')
      ? data.rows
      : data.rows.filter((row) => !['running', 'queued'].includes(row.state));
    return h(
      'div',
      null,
      h('h1', { class: 'quiet-title' }, 'Verdicts'),
      running.length
        ? h('section', { 'aria-label': 'Running now', class: 'now' }, running.map((row) => runningRow(row, data.hosts)))
        : null,
      strip(data),
      filterBar(query),
      rows.length
        ? verdictTable(rows, data.hosts)
        : [...query.keys()].length
          ? empty('Nothing matches these filters. ', h('a', { href: '/' }, 'Show all'))
          : firstVisit(data.shipped),
      h(
        'nav',
        { class: 'pager', 'aria-label': 'Older and newer' },
        query.get('before') ? h('a', { href: address(query, { before: '' }) }, '← Newest') : null,
        data.next ? h('a', { href: address(query, { before: data.next }) }, 'Older →') : null,
      ),
    );
  },
};
