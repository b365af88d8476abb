// The A/A audit: false accepts with their bound, and how often injected slowdowns were found.
import { get } from '../api.js';
import { h } from '../dom.js';
import { percent } from '../format.js';
import { badge, empty, machineName, machineTabs, section, table, time } from '../parts.js';
import { detectable } from './hosts.js';

const plain = (fraction, digits) => percent(fraction, digits).replace('+', '');

function bounds(data) {
  if (!data.audits.length)
    return empty('No A/A experiment yet: ', h('code', null, 'steady aa --runs 20'), ' makes them.');
  return table(
    [
      {
        head: 'Machine',
        cell: (row) => h(
            'a',
            { href: `/w/${encodeURIComponent(row.host)}` },
            machineName(row.host, data.hosts),
          ),
      },
      { head: 'A/A experiments', number: true, cell: (row) => row.runs },
      { head: 'Falsely accepted', number: true, cell: (row) => row.accepts },
      {
        head: 'False accepts at most (95 % bound)',
        number: true,
        cell: (row) => h('strong', null, plain(row.upper_95, 1)),
      },
    ],
    data.audits,
    { label: 'A against A' },
  );
}

// burn-0-5: B is 0.5 % slower; gain-1: 1 % faster; planted-50: 0.5 % faster (selftest --runs).
function whatWasPlanted(name) {
  const [kind, ...digits] = name.split('-');
  const size = kind === 'planted' ? Number(digits[0]) / 100 : Number(digits.join('.'));
  return `${kind === 'burn' ? '−' : '+'}${size} %`;
}

function planted(data) {
  if (!data.planted.length)
    return empty('Nothing was planted yet: ', h('code', null, 'steady selftest'), ' does it.');
  return table(
    [
      { head: 'Machine', cell: (row) => machineName(row.host, data.hosts) },
      { head: 'Planted', cell: (row) => whatWasPlanted(row.planted) },
      { head: 'Verdict', cell: (row) => badge(row.verdict) },
      { head: 'Times', number: true, cell: (row) => row.n },
      { head: 'Mean effect found', number: true, cell: (row) => percent(row.effect) },
      {
        head: 'Right?',
        cell: (row) =>
          row.wrong
            ? h('strong', { class: 'effect worse' }, '✕ wrong')
            : h('span', { class: 'effect better' }, '✓'),
      },
      { head: 'Latest', class: 'dim', cell: (row) => time(row.at) },
    ],
    data.planted,
    { label: 'Planted differences' },
  );
}

function noise(data) {
  const rows = data.hosts.flatMap((host) => host.noise.map((one) => ({ ...one, host: host.name })));
  if (!rows.length) return empty('No A/A pairs yet.');
  return table(
    [
      { head: 'Machine', cell: (row) => machineName(row.host, data.hosts) },
      { head: 'Metric', cell: (row) => h('code', null, row.metric) },
      { head: 'Mode', cell: (row) => row.mode.replace('_', ' ') },
      { head: 'σ of a pair', number: true, cell: (row) => plain(row.sigma_d, 3) },
      { head: 'Seen in 50 pairs', number: true, cell: (row) => percent(detectable(row.sigma_d)) },
      { head: 'A/A pairs', number: true, cell: (row) => row.pairs },
      { head: 'Latest', class: 'dim', cell: (row) => time(row.at) },
    ],
    rows,
    { label: 'Spread of a pair by machine and metric' },
  );
}

export default {
  title: () => 'A/A audit',
  cli: () => 'steady aa --json',
  every: 10000,
  load: (params, query, signal) => get('/aa.json', signal),
  draw: (data) =>
    h(
      'div',
      null,
      h('h1', null, 'Machines'),
      machineTabs('/aa'),
      section('Where nothing differs', bounds(data)),
      section('Where something was planted', planted(data)),
      section('Own noise', noise(data)),
    ),
};
