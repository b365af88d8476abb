// Every op and variant as last measured inside the model: time per token, bandwidth, who is champion
// and which experiment made it so.
import { get } from '../api.js';
import { h } from '../dom.js';
import { count, nanoseconds, percent } from '../format.js';
import { empty, experimentLink, table, time } from '../parts.js';

function byOp(rows) {
  const ops = new Map();
  for (const row of rows) {
    if (!ops.has(row.op)) ops.set(row.op, []);
    ops.get(row.op).push(row);
  }
  const share = (list) => Math.max(...list.map((row) => row.ns_per_token));
  return [...ops].sort((x, y) => share(y[1]) - share(x[1]));
}

const bandwidth = (row) =>
  row.ns_per_token > 0 && row.bytes_per_token > 0 ? row.bytes_per_token / row.ns_per_token : null;

// Rows of one op stand together; its name stands before the first.
function flat(rows) {
  return byOp(rows).flatMap(([op, list]) => {
    const sorted = [...list].sort((x, y) => x.ns_per_token - y.ns_per_token);
    return sorted.map((row, i) => ({ ...row, op, first: i === 0, best: sorted[0].ns_per_token }));
  });
}

function meter(row, most) {
  const inner = h('span', { class: 'arm-b' });
  inner.style.width = `${(100 * bandwidth(row)) / most}%`;
  return h('span', { class: 'meter', 'aria-hidden': 'true' }, inner);
}

function kernelTable(rows) {
  const most = Math.max(0, ...rows.map((row) => bandwidth(row) ?? 0));
  return table(
    [
      { head: 'Op', cell: (row) => (row.first ? h('strong', null, h('code', null, row.op)) : '') },
      {
        head: 'Variant',
        cell: (row) => [
          h('code', null, row.variant),
          row.reason === 'champion'
            ? h('span', { class: 'badge verdict-accept small' }, '★ champion')
            : null,
        ],
      },
      { head: 'Time per token', number: true, cell: (row) => nanoseconds(row.ns_per_token) },
      {
        head: 'Against best',
        number: true,
        class: 'dim',
        cell: (row) =>
          row.best > 0 && row.ns_per_token > row.best
            ? percent(row.ns_per_token / row.best - 1, 1)
            : '',
      },
      { head: 'Calls', number: true, cell: (row) => count(row.calls_per_token) },
      {
        head: 'GB/s',
        number: true,
        cell: (row) => (bandwidth(row) === null ? '–' : bandwidth(row).toFixed(1)),
      },
      { head: '', cell: (row) => (bandwidth(row) === null ? '' : meter(row, most)) },
      {
        head: 'Measured in',
        class: 'small',
        cell: (row) => [experimentLink(row.experiment), ` (${row.arm})`],
      },
      {
        head: 'Accepted by',
        class: 'small',
        cell: (row) => (row.accepted_by ? experimentLink(row.accepted_by) : '–'),
      },
      { head: 'When', class: 'dim nowrap', cell: (row) => time(row.at) },
    ],
    rows,
    {
      label: 'Variants by op',
      class: 'kernels',
      rowClass: (row) => (row.first ? 'group' : null),
    },
  );
}

export default {
  title: () => 'Kernels',
  cli: () => 'steady-kernels list --json',
  load: (params, query, signal) => get('/kernels.json', signal),
  draw: (data) =>
    h(
      'div',
      null,
      h('h1', null, 'Kernels'),
      h(
        'p',
        { class: 'dim' },
        'Latest profile of each variant inside the model. Times of different experiments may come ' +
          'from different models: compare within one experiment to decide. Bars: share of the fastest read seen here.',
      ),
      data.rows.length
        ? kernelTable(flat(data.rows))
        : empty('No profile is stored yet: it comes with an experiment whose arms differ.'),
    ),
};
