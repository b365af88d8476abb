// Where the CPU time went by call stack: A, B and their difference, and the functions that moved.
import { get } from '../api.js';
import { flame, tree } from '../charts/flame.js';
import { h, replace } from '../dom.js';
import { ARROWS, count, nanoseconds, percent } from '../format.js';
import { empty, folded, section, table } from '../parts.js';

const ROWS = 12;

const moved = (row) => row.interval_ns[0] > 0 || row.interval_ns[1] < 0;

function change(row, whole) {
  const way = moved(row) ? (row.b_ns > row.a_ns ? 'worse' : 'better') : 'undecided';
  const bounds = row.interval_ns.map((one) => percent(one / whole, 1)).join(' to ');
  return h(
    'span',
    { class: `effect ${way}` },
    h('strong', null, `${ARROWS[way]} ${percent((row.b_ns - row.a_ns) / whole, 1)}`),
    ' ',
    h('span', { class: 'interval' }, `(${bounds})`),
  );
}

function functions(data) {
  const draw = (rows) =>
    table(
      [
        { head: 'Function', class: 'wide', cell: (row) => h('code', null, row.name) },
        { head: 'A per run', number: true, cell: (row) => nanoseconds(row.a_ns) },
        { head: 'B per run', number: true, cell: (row) => nanoseconds(row.b_ns) },
        {
          head: 'Difference, share of A’s time',
          number: true,
          cell: (row) => change(row, data.a_ns),
        },
      ],
      rows,
      { label: 'CPU time of functions themselves' },
    );
  const size = (row) => Math.abs(row.b_ns - row.a_ns);
  const loud = data.functions.filter(moved).sort((x, y) => size(y) - size(x));
  const calm = data.functions.filter((row) => !moved(row));
  return [
    loud.length
      ? draw(loud.slice(0, ROWS))
      : empty('No function’s own time differs by more than sampling explains.'),
    loud.length > ROWS
      ? folded(`${loud.length - ROWS} more that moved`, draw(loud.slice(ROWS)))
      : null,
    calm.length ? folded(`${calm.length} without a difference to show`, draw(calm)) : null,
  ];
}

function graphs(data) {
  const most = Math.max(data.a_ns, data.b_ns);
  const describe = (node) =>
    `${node.name}: A ${nanoseconds(node.a_ns)}, B ${nanoseconds(node.b_ns)} per run` +
    (data.a_ns > 0 ? `, ${percent((node.b_ns - node.a_ns) / data.a_ns, 1)} of A’s time` : '');
  const one = (width, label) => flame(tree(data.frames), { width, most, label, describe });
  return [
    one('both', 'Difference: + (red) more time in B, − (green) less, grey not shown by the samples'),
    one('a_ns', `A, ${nanoseconds(data.a_ns)} of CPU time per run`),
    one('b_ns', `B, ${nanoseconds(data.b_ns)} of CPU time per run`),
  ];
}

function content(data) {
  if (data.problem) return empty(`Not sampled: ${data.problem}`);
  const { A, B } = data.arms;
  return [
    graphs(data),
    functions(data),
    h(
      'p',
      { class: 'dim small' },
      `${count(A.samples)} samples of A in ${count(A.runs)} runs, ${count(B.samples)} of B in ` +
        `${count(B.runs)}, at ${count(data.hz)} Hz, after the pairs. Intervals (99.9 %) hold the ` +
        'error of sampling, not the spread between runs: only the pairs decide. For other tools: ',
      h('code', null, `steady show ${data.id} --stacks A`),
    ),
  ];
}

export function flameSection(data) {
  if (!data.sampled) return null;
  const box = h('div', { class: 'flames' }, empty('Loading the stacks …'));
  get(`/x/${encodeURIComponent(data.id)}/flame.json`)
    .then((found) => replace(box, content(found)))
    .catch((error) => replace(box, empty(`The stacks cannot be shown: ${error.message}`)));
  return section('Where the CPU time went', box);
}
