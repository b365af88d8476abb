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

function opTable([op, rows]) {
  const list = [...rows].sort((x, y) => x.ns_per_token - y.ns_per_token);
  const best = list[0]?.ns_per_token;
  return h(
    'section',
    { 'aria-label': op },
    h('h2', null, h('code', null, op)),
    table(
      [
        {
          head: 'Variant',
          class: 'wide',
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
          cell: (row) =>
            best > 0 ? percent(row.ns_per_token / best - 1, 1).replace('±', '') : '–',
        },
        { head: 'Calls per token', number: true, cell: (row) => count(row.calls_per_token) },
        {
          head: 'GB/s',
          number: true,
          cell: (row) => (bandwidth(row) === null ? '–' : bandwidth(row).toFixed(2)),
        },
        { head: 'Measured in', cell: (row) => [experimentLink(row.experiment), ` (${row.arm})`] },
        {
          head: 'Accepted by',
          cell: (row) => (row.accepted_by ? experimentLink(row.accepted_by) : '–'),
        },
        { head: 'When', class: 'dim', cell: (row) => time(row.at) },
      ],
      list,
      { label: `Variants of ${op}`, class: 'kernels' },
    ),
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
          'from different models: compare within one experiment to decide.',
      ),
      data.rows.length
        ? byOp(data.rows).map(opTable)
        : empty('No profile is stored yet: it comes with an experiment whose arms differ.'),
    ),
};
