// Every op and variant as last measured inside the model: time per token, bandwidth, who is champion
// and which experiment made it so.
import { get } from '../api.js';
import { h } from '../dom.js';
import { count, nanoseconds, percent } from '../format.js';
import { empty, experimentLink, shortId, table, time } from '../parts.js';

const newest = (rows) => rows.reduce((best, row) => (row.at > best ? row.at : best), '');

// Lists of rows with the same value in one field.
function grouped(rows, field) {
  const found = new Map();
  for (const row of rows) {
    if (!found.has(row[field])) found.set(row[field], []);
    found.get(row[field]).push(row);
  }
  return [...found.values()];
}

const bandwidth = (row) =>
  row.ns_per_token > 0 && row.bytes_per_token > 0 ? row.bytes_per_token / row.ns_per_token : null;

// Of the machine's read speed, where the same profile measured it.
const ofRead = (row) =>
  row.read_gb_per_s > 0 && bandwidth(row) !== null ? bandwidth(row) / row.read_gb_per_s : null;

// Rows of one op stand together, the op that takes longest first; its name stands before its best.
// A default that was replaced is no champion any more, whatever its profile said then.
function flat(rows) {
  const ops = grouped(rows, 'op').map((list) =>
    [...list].sort((x, y) => x.ns_per_token - y.ns_per_token),
  );
  ops.sort((x, y) => y[0].ns_per_token - x[0].ns_per_token);
  return ops.flatMap((list) => {
    const latest = newest(list.filter((row) => row.reason === 'champion'));
    return list.map((row, i) => ({
      ...row,
      first: i === 0,
      champion: row.reason === 'champion' && row.at === latest,
      best: list[0].ns_per_token,
    }));
  });
}

function meter(row, most) {
  const inner = h('span', { class: 'arm-b' });
  inner.style.width = `${Math.min(100, 100 * (ofRead(row) ?? bandwidth(row) / most))}%`;
  return h('span', { class: 'meter', 'aria-hidden': 'true' }, inner);
}

function shapes(list) {
  if (!list?.length) return null;
  const words = list.length === 1 ? 'one shape' : `${count(list.length)} shapes`;
  return h(
    'details',
    { class: 'small dim' },
    h('summary', null, words),
    list.map((shape) => h('div', { class: 'nowrap' }, h('code', null, shape))),
  );
}

function kernelTable(rows) {
  const most = Math.max(0, ...rows.map((row) => bandwidth(row) ?? 0));
  return table(
    [
      {
        head: 'Op',
        cell: (row) =>
          row.first ? [h('strong', null, h('code', null, row.op)), shapes(row.shapes)] : '',
      },
      {
        head: 'Variant',
        class: 'wrap',
        cell: (row) => [
          h('code', null, row.variant),
          row.champion
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
      {
        head: 'Of read',
        number: true,
        cell: (row) => (ofRead(row) === null ? '–' : `${(100 * ofRead(row)).toFixed(0)} %`),
      },
      { head: '', cell: (row) => (bandwidth(row) === null ? '' : meter(row, most)) },
      {
        head: 'Measured in',
        class: 'small wrap',
        cell: (row) => [experimentLink(row.experiment, shortId(row.experiment)), ` (${row.arm})`],
      },
      {
        head: 'Accepted by',
        class: 'small wrap',
        cell: (row) =>
          row.accepted_by ? experimentLink(row.accepted_by, shortId(row.accepted_by)) : '–',
      },
      { head: 'When', class: 'dim nowrap', cell: (row) => time(row.at) },
    ],
    rows,
    {
      label: `Variants by op on ${rows[0].model}`,
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
        'Latest profile of each variant inside the model, model by model. A profile explains; what ' +
          'was accepted, an experiment decided. Bars: share of what the machine reads from memory, ' +
          'as the same profile measured it; of the fastest op where none did.',
      ),
      data.rows.length
        ? grouped(data.rows, 'model')
            .sort((x, y) => (newest(x) < newest(y) ? 1 : -1))
            .map((rows) => [h('h2', null, rows[0].model), kernelTable(flat(rows))])
        : empty('No profile is stored yet. An experiment whose arms differ stores one.'),
    ),
};
