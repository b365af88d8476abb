// One machine: its facts, and its own noise run by run.
import { get } from '../api.js';
import { letter, lineChart, swatch } from '../charts/lines.js';
import { h, replace } from '../dom.js';
import { minute, percent } from '../format.js';
import { cpuName, empty, experimentLink, folded, section, shortId, table } from '../parts.js';
import { hostCard } from './hosts.js';

const sigma = (value) => percent(value, 2).replace('+', '');

// One group per metric, mode, model and GPU, those with most runs first: noise of two of them is
// never one line.
function groups(runs) {
  const found = new Map();
  for (const run of runs) {
    const key = [run.metric, run.mode, run.model, run.gpu].join('\n');
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(run);
  }
  return [...found.values()].sort((one, other) => other.length - one.length);
}

const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const seconds = (run) => Date.parse(run.at) / 1000;

function runLine(run) {
  if (!run) return h('p', { class: 'dim' }, 'Point at a dot to see its run.');
  return h(
    'p',
    null,
    h('strong', null, sigma(run.sigma_d)),
    h('span', { class: 'dim' }, ` over ${run.pairs} A/A pairs, ${minute(run.at)} UTC · `),
    h('code', null, run.metric),
    ' · ',
    experimentLink(run.experiment, shortId(run.experiment)),
  );
}

const SHOWN = 6;

function chart(all) {
  const shown = all.slice(0, SHOWN);
  const times = [...new Set(shown.flat().map(seconds))].sort((a, b) => a - b);
  const place = new Map(times.map((at, i) => [at, i]));
  const at = times.map(() => null);
  const lines = shown.map((runs) => {
    const values = Array(times.length).fill(null);
    for (const run of runs) {
      values[place.get(seconds(run))] = run.sigma_d;
      at[place.get(seconds(run))] = run;
    }
    return { values };
  });
  const line = h('div', { class: 'point', 'aria-live': 'polite' }, runLine(null));
  return [
    h(
      'div',
      {
        id: 'noise',
        role: 'img',
        'aria-label': `Noise over time, ${lines.length} lines; the table below has the values`,
      },
      lineChart({
        x: times,
        time: true,
        lines,
        unit: sigma,
        onHover: (i) => replace(line, runLine(i === null ? null : at[i])),
      }),
    ),
    line,
    table(
      [
        { head: 'Line', cell: (row) => (row.i < SHOWN ? [swatch(row.i), ' ', h('strong', null, letter(row.i))] : '') },
        { head: 'Metric', cell: (row) => h('code', null, row.runs[0].metric) },
        { head: 'Mode', cell: (row) => row.runs[0].mode.replaceAll('_', ' ') },
        { head: 'Model', class: 'wrap', cell: (row) => row.runs[0].model || '–' },
        { head: 'On', class: 'wrap', cell: (row) => row.runs[0].gpu || 'CPU' },
        { head: 'Runs', number: true, cell: (row) => row.runs.length },
        { head: 'Median σ', number: true, cell: (row) => sigma(median(row.runs.map((run) => run.sigma_d))) },
        { head: 'Lowest', number: true, cell: (row) => sigma(Math.min(...row.runs.map((run) => run.sigma_d))) },
        { head: 'Highest', number: true, cell: (row) => sigma(Math.max(...row.runs.map((run) => run.sigma_d))) },
        { head: 'Latest', number: true, cell: (row) => sigma(row.runs.at(-1).sigma_d) },
      ],
      all.map((runs, i) => ({ runs, i })),
      { label: 'Noise by metric, mode, model and GPU' },
    ),
  ];
}

function runTable(runs) {
  const latest = [...runs].reverse().slice(0, 200);
  return folded(
    `${runs.length} runs`,
    table(
      [
        { head: 'When', class: 'nowrap', cell: (run) => `${minute(run.at)} UTC` },
        { head: 'Metric', cell: (run) => h('code', null, run.metric) },
        { head: 'σ of a pair', number: true, cell: (run) => sigma(run.sigma_d) },
        { head: 'A/A pairs', number: true, cell: (run) => run.pairs },
        { head: 'Run', class: 'wrap', cell: (run) => experimentLink(run.experiment, shortId(run.experiment)) },
      ],
      latest,
      { label: 'Runs, newest first' },
    ),
  );
}

export default {
  title: ([name]) => `Machine ${name}`,
  pageTitle: (data) => cpuName(data.host.facts.cpu_model) || data.host.name,
  cli: () => 'steady aa --json',
  every: 10000,
  load: ([name], query, signal) => get(`/hosts/${encodeURIComponent(name)}.json`, signal),
  draw: (data) =>
    h(
      'div',
      null,
      h('p', { class: 'crumbs' }, h('a', { href: '/hosts' }, 'Machines'), ' / ', data.host.name),
      h('h1', null, cpuName(data.host.facts.cpu_model) || data.host.name),
      section(
        'Noise over time',
        h(
          'p',
          { class: 'dim' },
          'A against A, in the pairs that every experiment measures beside its question. A dot is one ' +
            'run; few pairs make a rough estimate.',
        ),
        data.noise_runs.length
          ? [chart(groups(data.noise_runs)), runTable(data.noise_runs)]
          : empty('No run with three A/A pairs yet: run ', h('code', null, 'steady aa'), ' there.'),
      ),
      section('The machine', hostCard(data.host)),
    ),
};
