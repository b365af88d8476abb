// Where the time goes: each op in A and in B. Ops that did the same work and whose interval holds
// zero are folded, so that what the change moved stands alone.
import { h } from '../dom.js';
import { ARROWS, direction, interval, percent } from '../format.js';
import { folded, section, table } from '../parts.js';

const SMALL = 0.02; // without an interval, a change below this is not worth a row

function join(profile) {
  const rows = new Map();
  for (const arm of ['A', 'B']) {
    for (const row of profile.arms?.[arm] ?? []) {
      if (!rows.has(row.op)) rows.set(row.op, { op: row.op, ...profile.changes?.[row.op] });
      rows.get(row.op)[arm] = row;
    }
  }
  const time = (row) => Math.max(row.A?.ns_per_token ?? 0, row.B?.ns_per_token ?? 0);
  return [...rows.values()].sort((x, y) => time(y) - time(x));
}

const bounded = (row) => row.interval && row.interval[0] !== null;

// Of a time, less is better. A number without an interval is neither.
const way = (row) =>
  bounded(row) ? direction(-row.change, [-row.interval[1], -row.interval[0]]) : 'none';

const changed = (row) =>
  row.A?.variant !== row.B?.variant ||
  (bounded(row) ? way(row) !== 'undecided' : Math.abs(row.change) >= SMALL);

function sum(profile, arm) {
  return (profile.arms?.[arm] ?? []).reduce((total, row) => total + row.ns_per_token, 0);
}

function launches(profile, nanoseconds, count) {
  const a = profile.launches_per_token?.A;
  const b = profile.launches_per_token?.B;
  if (a === undefined || b === undefined) return null;
  const barrier = (arm) =>
    profile.barrier_ns_per_token?.[arm]
      ? `, ${nanoseconds(profile.barrier_ns_per_token[arm])} at barriers`
      : '';
  return h(
    'p',
    null,
    'Launches per token: A ',
    h('strong', null, count(a)),
    ', B ',
    h('strong', null, count(b)),
    a === b ? ' (the same)' : '',
    h('span', { class: 'dim' }, ` · A${barrier('A') || ' –'} · B${barrier('B') || ' –'}`),
  );
}

export function profileSection(data, { count, nanoseconds }) {
  const { profile } = data;
  if (!profile?.arms) return null;
  const rows = join(profile);
  const most = Math.max(
    ...rows.map((row) => Math.max(row.A?.ns_per_token ?? 0, row.B?.ns_per_token ?? 0)),
  );
  const gbs = (row) =>
    row && row.bytes_per_token > 0 ? (row.bytes_per_token / row.ns_per_token).toFixed(1) : '–';
  const meter = (row) => {
    const bar = (one, name) => {
      const inner = h('span', { class: name });
      inner.style.width = `${one ? (100 * one.ns_per_token) / most : 0}%`;
      return inner;
    };
    return h(
      'span',
      { class: 'meter', 'aria-hidden': 'true' },
      bar(row.A, 'arm-a'),
      bar(row.B, 'arm-b'),
    );
  };
  const change = (row) => {
    if (!row.A || !row.B) return row.A ? 'only A' : 'only B';
    return h(
      'span',
      { class: `effect ${way(row)}` },
      h('strong', null, `${ARROWS[way(row)]} ${percent(row.change, 1)}`.trim()),
      ' ',
      h('span', { class: 'interval' }, interval(row.interval, 1)),
    );
  };
  const variants = (row) =>
    row.A?.variant === row.B?.variant
      ? h('code', null, row.A?.variant)
      : [h('code', null, row.A?.variant ?? '–'), ' → ', h('code', null, row.B?.variant ?? '–')];
  const draw = (list) =>
    table(
      [
        { head: 'Op', cell: (row) => h('code', null, row.op) },
        { head: 'Variant', class: 'wide small', cell: variants },
        { head: 'A per token', number: true, cell: (row) => nanoseconds(row.A?.ns_per_token) },
        { head: 'B per token', number: true, cell: (row) => nanoseconds(row.B?.ns_per_token) },
        { head: '', cell: meter },
        { head: 'Time, B against A', number: true, cell: change },
        {
          head: 'Calls',
          number: true,
          cell: (row) =>
            row.A?.calls_per_token === row.B?.calls_per_token
              ? count(row.A?.calls_per_token)
              : `${count(row.A?.calls_per_token)} → ${count(row.B?.calls_per_token)}`,
        },
        { head: 'GB/s A, B', number: true, cell: (row) => `${gbs(row.A)}, ${gbs(row.B)}` },
      ],
      list,
      { label: 'Time per op' },
    );
  const loud = rows.filter(changed);
  const calm = rows.filter((row) => !changed(row));
  return section(
    'Where the time goes',
    launches(profile, nanoseconds, count),
    h(
      'p',
      { class: 'dim small' },
      `Sum of ops per token: A ${nanoseconds(sum(profile, 'A'))}, B ${nanoseconds(sum(profile, 'B'))}. ` +
        (profile.processes > 1
          ? `Medians of ${profile.processes} processes in which the arms took turns; changes with 99 % intervals. `
          : 'One profiled run of each arm: a change has no interval. ') +
        'Measured separately from the pairs that decide the verdict.',
    ),
    loud.length ? draw(loud) : null,
    calm.length ? folded(`${calm.length} ops without a change to show`, draw(calm)) : null,
  );
}
