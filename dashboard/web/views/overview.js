// The landing page: questions with their verdicts, newest first; running jobs on top.
import { get } from '../api.js';
import { go } from '../navigation.js';
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

export function runningRow(row) {
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
        ` · ${row.host || 'no host yet'}`,
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
  let timer = 0;
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
        oninput: (event) => {
          const { value } = event.target;
          clearTimeout(timer);
          timer = setTimeout(async () => {
            await go(
              address(new URLSearchParams(location.search), { [key]: value, before: '' }),
              true,
            );
            const again = document.getElementById(`filter-${key}`);
            again?.focus();
            again?.setSelectionRange?.(value.length, value.length);
          }, 250);
        },
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

// An empty database explains itself: what would stand here, and three ways to see it.
function firstVisit() {
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
  load: ([], query, signal) => {
    const asked = new URLSearchParams();
    for (const key of FILTERS) if (query.get(key)) asked.set(key, query.get(key));
    return get(`/index.json?${asked}`, signal);
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
        ? h('section', { 'aria-label': 'Running now', class: 'now' }, running.map(runningRow))
        : null,
      strip(data),
      filterBar(query),
      rows.length
        ? verdictTable(rows, data.hosts)
        : [...query.keys()].length
          ? empty('Nothing matches these filters. ', h('a', { href: '/' }, 'Show all'))
          : firstVisit(),
      h(
        'nav',
        { class: 'pager', 'aria-label': 'Older and newer' },
        query.get('before') ? h('a', { href: address(query, { before: '' }) }, '← Newest') : null,
        data.next ? h('a', { href: address(query, { before: data.next }) }, 'Older →') : null,
      ),
    );
  },
};
