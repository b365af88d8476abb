// One experiment: the verdict in one line, then its evidence.
import { get, getText, post, token } from '../api.js';
import { commonScale, intervalBar } from '../charts/interval_bar.js';
import { figure } from '../charts/figure.js';
import { h, withCode } from '../dom.js';
import { count, duration, interval, minute, nanoseconds, percent, words } from '../format.js';
import {
  badge,
  copyButton,
  cpuName,
  effect,
  empty,
  facts,
  folded,
  progressBar,
  section,
  table,
} from '../parts.js';
import { gpuClocks, layoutControl, settingsTried } from './experiment_controls.js';
import { commands, matrixCells, measured, programs } from './experiment_outside.js';
import { flameSection } from './experiment_flame.js';
import { profileSection } from './experiment_profile.js';
import { attempts, environment, repeat } from './experiment_record.js';
import { runsSection } from './experiment_runs.js';
import { bisectForm } from '../bisect.js';

const LEVELS = ['correctness', 'micro', 'block', 'model'];
const STOPS = {
  early_e: 'Stopped early: the evidence reached its threshold.',
  interim: 'Decided by a planned look before the largest number of pairs.',
  cap: 'Ended at the largest number of pairs.',
  final: 'Decided by the final look.',
};
const OUTCOMES = {
  pass: '✓',
  fail: '✕',
  open: '~',
  advice: 'i',
  skipped: '–',
  planned: '…',
  pending: '…',
};

// Levels that contradict each other are named at the top: only the model decides.
function contradiction(result) {
  if (!result.contradiction) return null;
  return h(
    'p',
    { class: 'contradiction', role: 'note' },
    'The levels contradict each other: ',
    h('strong', null, result.contradiction),
    '. Only the model decides.',
  );
}

// What a worker stores it may have made up, until the owner's side has computed it too.
function unchecked(data) {
  if (!data.analysis || data.checked) return null;
  return h(
    'p',
    { class: 'contradiction', role: 'note' },
    'Nobody but its worker has computed this verdict yet: ',
    h('code', null, 'steady decide --unchecked'),
  );
}

// What the token may do with this experiment now: verb of the address → what the button says.
function leverButtons(data) {
  if (!token()) return null;
  const levers = {
    queued: { cancel: 'Cancel' },
    running: { cancel: 'Cancel' },
    failed: { requeue: 'Queue again' },
    cancelled: { requeue: 'Queue again' },
    done: { rerun: 'Ask again' },
  }[data.state];
  return Object.entries(levers ?? {}).map(([verb, label]) =>
    h(
      'button',
      {
        type: 'button',
        class: 'quiet',
        onclick: async (event) => {
          const button = event.target;
          button.disabled = true;
          try {
            const reply = await post(
              `/api/experiments/${encodeURIComponent(data.id)}/${verb}`,
              '{}',
            );
            button.textContent = reply.id === data.id ? reply.state : `${reply.state}: ${reply.id}`;
          } catch (error) {
            button.textContent = error.message;
          }
        },
      },
      label,
    ),
  );
}

function actions(data) {
  const base = `/x/${encodeURIComponent(data.id)}`;
  return h(
    'p',
    { class: 'actions' },
    data.slug
      ? h('a', { class: 'button', href: `/j/${encodeURIComponent(data.slug)}` }, 'Journal entry')
      : null,
    h('a', { class: 'button', href: `${base}/pairs` }, 'All pairs'),
    data.analysis ? copyButton('Copy as Markdown', () => getText(`${base}.md`)) : null,
    h('a', { class: 'button quiet', href: `${base}.json` }, 'JSON'),
    leverButtons(data),
  );
}

// What the pairs so far say: shown to pass the time, decided by nobody yet.
function soFar(data) {
  const known = Number.isFinite(data.progress?.effect);
  return [
    known
      ? h(
          'p',
          { class: 'live-line', id: 'so-far' },
          h('span', { class: 'dim' }, 'So far '),
          effect(data.progress),
          intervalBar(data.progress, commonScale([data.progress]), 'so far'),
        )
      : null,
    progressBar(data.pairs_done, data.pairs_max, 'pairs measured'),
  ];
}

// What the arms ran on: a GPU where one did, else the CPU; the host's id where neither is known.
function processor(data) {
  const gpu = data.runs.runs.find((run) => run.id === data.id)?.gpu;
  return gpu || cpuName(data.environment.facts.cpu_model) || data.attempts.at(-1).host;
}

function verdictHead(data) {
  const result = data.analysis;
  const meta = [
    result ? h('code', null, result.metric) : null,
    result
      ? `${result.pairs} pairs${result.discarded ? `, ${result.discarded} discarded` : ''}`
      : `pair ${data.pairs_done} of at most ${data.pairs_max}`,
    data.attempts.length ? `on ${processor(data)}` : null,
    data.spec.owner ? `asked by ${data.spec.owner}` : null,
    data.seconds ? `measured for ${duration(data.seconds)}` : null,
    data.decided_at
      ? `decided ${minute(data.decided_at)} UTC`
      : `submitted ${minute(data.submitted_at)} UTC`,
  ].filter(Boolean);
  return h(
    'header',
    { class: `verdict ${result?.verdict ?? data.state}` },
    h(
      'div',
      { class: 'verdict-line' },
      badge(result?.verdict, data.state, true),
      result?.reason ? h('span', { class: 'reason' }, words(result.reason)) : null,
      result ? h('div', { class: 'headline' }, effect(result)) : null,
    ),
    h('h1', null, data.spec.hypothesis?.claim ?? data.id),
    result?.sentence ? h('p', { class: 'lead' }, withCode(result.sentence)) : null,
    result ? contradiction(result) : soFar(data),
    unchecked(data),
    data.note ? h('p', { class: 'note' }, withCode(data.note)) : null,
    h(
      'p',
      { class: 'dim' },
      meta.map((one, i) => [i ? ' · ' : '', one]),
    ),
    actions(data),
  );
}

const bounds = (change) =>
  change ? change.map((text) => Number(text.replace('%', '')) / 100) : null;

function hypothesis(data) {
  const asked = data.spec.hypothesis ?? {};
  const predict = bounds(asked.predict?.change);
  const result = data.analysis;
  const shown = { effect: result?.effect, interval: result?.interval, predict };
  return section(
    'Hypothesis',
    h('p', null, asked.because ? ['Because ', asked.because, '.'] : ''),
    predict
      ? h(
          'div',
          { class: 'prediction' },
          h(
            'p',
            null,
            'Predicted before the first pair: ',
            h('strong', null, `${percent(predict[0], 1)} to ${percent(predict[1], 1)}`),
            result?.prediction
              ? [
                  ' — the result is ',
                  h(
                    'strong',
                    null,
                    result.prediction === 'no_answer'
                      ? 'no answer'
                      : `${words(result.prediction)} the range`,
                  ),
                  '.',
                ]
              : '',
          ),
          result
            ? intervalBar(
                shown,
                commonScale([
                  { effect: result.effect, interval: [...predict, ...(result.interval ?? [])] },
                ]),
                'Result against prediction',
              )
            : null,
        )
      : null,
  );
}

// A commit's first twelve digits name it; all forty push the other arm off the page. Beside them
// stands what was asked for: a tag or a branch, which may move.
function setting(value, asked) {
  const text = value ?? '–';
  const commit = /^[0-9a-f]{40}$/.test(text);
  const code = h('code', commit ? { title: text } : null, commit ? text.slice(0, 12) : text);
  if (!commit || !asked || text.startsWith(asked)) return code;
  return [h('code', null, asked), ' (', code, ')'];
}

function change(data) {
  const rows = data.change.ran ?? data.change.asked;
  const proof = data.change.ran
    ? 'Read back from what really ran in each arm.'
    : 'As requested; the arms have not run yet.';
  const value = (row, arm) => row[arm] ?? (row.path.startsWith('env.') ? 'unset' : null);
  const asked = (arm, row) => (row.path === 'rev' ? data.spec.arms?.[arm]?.rev : null);
  return section(
    'The change',
    rows.length
      ? table(
          [
            { head: 'What', cell: (row) => h('code', null, row.path) },
            { head: 'A (baseline)', cell: (row) => setting(value(row, 'a'), asked('A', row)) },
            { head: 'B (candidate)', cell: (row) => setting(value(row, 'b'), asked('B', row)) },
          ],
          rows,
          { label: 'Difference of the arms' },
        )
      : empty(data.change.ran ? 'Both arms ran the same configuration.' : 'The arms do not differ.'),
    h(
      'p',
      { class: 'dim small' },
      proof,
      data.spec.subject?.model
        ? ` Model ${data.spec.subject.model}${data.weights ? ` (weights: ${data.weights})` : ''}, ${data.mode.replace('_', ' ')}.`
        : '',
    ),
  );
}

// "margin 10%": what a guard may lose at most, or the gain that is worth having.
function bound(data, gate) {
  const asked = data.spec.gates?.find((one) => one.id === gate.id) ?? {};
  if (asked.margin) return ` margin ${asked.margin}`;
  return asked.worth ? ` worth ${asked.worth}` : '';
}

function rung(data, gate, scale) {
  const deciding = gate.role === 'decides';
  return h(
    'li',
    { class: `rung ${gate.outcome} ${deciding ? 'decides' : ''}` },
    h(
      'span',
      { class: 'outcome', title: gate.outcome },
      h('span', { 'aria-hidden': 'true' }, OUTCOMES[gate.outcome] ?? '?'),
      h('span', { class: 'offscreen' }, gate.outcome),
    ),
    h(
      'div',
      { class: 'what' },
      h('strong', null, gate.id),
      ' ',
      h('span', { class: `role ${gate.role}` }, gate.role),
      ' ',
      gate.metric ? h('code', null, gate.metric) : null,
      h('span', { class: 'dim small' }, bound(data, gate)),
      gate.detail ? h('p', { class: 'small' }, withCode(gate.detail)) : null,
    ),
    gate.effect === null
      ? h('div', { class: 'dim small number' }, gate.outcome === 'skipped' ? 'not run' : '')
      : h('div', { class: 'number' }, effect(gate), intervalBar(gate, scale, gate.id)),
  );
}

function ladder(data) {
  const gates = data.analysis?.gates?.length ? data.analysis.gates : data.planned;
  const scale = commonScale(
    gates.filter((gate) => gate.level === 'model').length
      ? gates.filter((gate) => gate.level === 'model')
      : gates,
  );
  return section(
    'Gates',
    gates.some((gate) => gate.effect !== null)
      ? h(
          'p',
          { class: 'dim small axis-note' },
          `bars from ${percent(-scale, 0)} to ${percent(scale, 0)}, 95 % intervals`,
        )
      : null,
    h(
      'ol',
      { class: 'ladder' },
      LEVELS.filter((level) => gates.some((gate) => gate.level === level)).map((level) =>
        h(
          'li',
          null,
          h('h3', null, level),
          h(
            'ol',
            null,
            gates.filter((gate) => gate.level === level).map((gate) => rung(data, gate, scale)),
          ),
        ),
      ),
    ),
    data.analysis?.pairs
      ? folded(
          'The gates as a figure, with the A/A band',
          figure(
            data.id,
            'intervals',
            'Intervals of the gates, and the A/A band of the same machine',
          ),
        )
      : null,
  );
}

function correctness(data) {
  const seen = data.correctness;
  if (!seen) return null;
  if (seen.failure) return h('span', { class: 'note' }, `could not be checked: ${seen.failure}`);
  if (seen.checks) {
    const told = (one) => `${one.detail}${one.held ? '' : ' (not held)'}`;
    return h('span', null, [...seen.checks, ...seen.proofs].map(told).join('; '));
  }
  return h(
    'span',
    null,
    `same first choice at ${(100 * seen.top1_agree).toFixed(2)} % of ${seen.positions} positions, `,
    `KL ${Number(seen.kl).toExponential(1)} nats, largest logit difference ${Number(seen.max_abs).toPrecision(2)}`,
    seen.non_finite ? ', not finite!' : '',
  );
}

function evidence(data) {
  const result = data.analysis;
  if (!result || !result.pairs) return null;
  return section(
    'Evidence',
    h(
      'div',
      { class: 'evidence' },
      figure(
        data.id,
        'pairs',
        'Every pair in the order measured, the interval as it narrowed, the evidence and what ' +
          'decided, the effect of each pair against its own speed',
      ),
      facts([
        [
          'Pairs',
          `${result.pairs}${result.discarded ? `, and ${result.discarded} that do not count` : ', all count'}`,
        ],
        ['Why it ended', STOPS[result.why] ?? words(result.why)],
        ['A against A on this machine', interval(result.aa_band) || 'too few pairs for a band'],
        ['Spread of one pair', percent(result.sigma_d, 3).replace('+', '')],
        ['Outputs', correctness(data)],
      ]),
    ),
    folded(
      'Distributions: all values of A against those of B',
      figure(data.id, 'distribution', 'The values of A and of B over one axis'),
    ),
  );
}

function checks(data) {
  const all = data.analysis?.checks ?? [];
  if (!all.length) return null;
  const row = (check) =>
    h(
      'li',
      { class: `check ${check.status}` },
      h(
        'span',
        { class: 'outcome', 'aria-hidden': 'true' },
        { ok: '✓', flag: '!', fail: '✕' }[check.status] ?? '–',
      ),
      h(
        'div',
        null,
        h('strong', null, words(check.name)),
        ' ',
        h('span', { class: 'dim' }, words(check.status)),
        check.detail ? h('p', { class: 'small' }, withCode(check.detail)) : null,
      ),
    );
  const notable = all.filter((check) => check.status === 'flag' || check.status === 'fail');
  const calm = all.filter((check) => !notable.includes(check));
  return section(
    'Assumption checks',
    notable.length
      ? h('ul', { class: 'checks' }, notable.map(row))
      : h('p', null, 'Nothing to remark.'),
    calm.length
      ? folded(`${calm.length} checks without remark`, h('ul', { class: 'checks' }, calm.map(row)))
      : null,
  );
}

// Of a question about two revisions of a repository.
function bisectSection(data) {
  const arms = data.spec.arms ?? {};
  const asked = data.spec.subject?.repo && arms.A?.rev && arms.B?.rev && arms.A.rev !== arms.B.rev;
  if (!asked && !data.searches.length) return null;
  return section(
    'Search for a commit',
    bisectForm(data.id, { good: arms.A?.rev, bad: arms.B?.rev }, data.searches, []),
  );
}

export default {
  title: ([id]) => id,
  pageTitle: (data) =>
    `${data.analysis ? `${data.analysis.verdict} ${percent(data.analysis.effect, 1)}` : data.state} · ${data.id}`,
  cli: ([id]) => `steady show ${id} --json`,
  every: 2000,
  busy: () =>
    document.activeElement?.id === 'compare-with' || Boolean(document.activeElement?.closest('.triage')),
  load: ([id], query, signal) => get(`/x/${encodeURIComponent(id)}.json`, signal),
  draw: (data) =>
    h(
      'div',
      { class: 'experiment' },
      h('p', { class: 'crumbs' }, h('a', { href: '/' }, 'Verdicts'), ' / ', data.id),
      verdictHead(data),
      h('div', { class: 'columns' }, hypothesis(data), change(data)),
      runsSection(data),
      evidence(data),
      ladder(data),
      commands(data),
      matrixCells(data),
      settingsTried(data),
      layoutControl(data),
      gpuClocks(data),
      measured(data),
      programs(data),
      profileSection(data, { count, nanoseconds }),
      flameSection(data),
      checks(data),
      environment(data),
      attempts(data),
      repeat(data),
      bisectSection(data),
    ),
};
