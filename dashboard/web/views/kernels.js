// Every op and variant as last measured inside the model: time per token, bandwidth, who is champion
// and which experiment made it so.
import { get } from '../api.js';
import { h } from '../dom.js';
import { count, nanoseconds, percent } from '../format.js';
import { empty, experimentLink, table, time } from '../parts.js';

// Only rows of one op on one model can be compared, so they stand together.
function groups(rows) {
  const found = new Map();
  for (const row of rows) {
    const key = `${row.model}\n${row.op}`;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(row);
  }
  return [...found.values()];
}

// Models in the order of their newest measurement, in each the op that takes longest first.
function ordered(rows) {
  const models = [...new Set([...rows].sort((x, y) => (x.at < y.at ? 1 : -1)).map((row) => row.model))];
  const least = (list) => Math.min(...list.map((row) => row.ns_per_token));
  return groups(rows).sort(
    (x, y) => models.indexOf(x[0].model) - models.indexOf(y[0].model) || least(y) - least(x),
  );
}

const bandwidth = (row) =>
  row.ns_per_token > 0 && row.bytes_per_token > 0 ? row.bytes_per_token / row.ns_per_token : null;

// The op's name stands before its first row, the model before its first op.
function flat(rows) {
  let model = null;
  return ordered(rows).flatMap((list) => {
    const sorted = [...list].sort((x, y) => x.ns_per_token - y.ns_per_token);
    const opens = sorted[0].model !== model;
    model = sorted[0].model;
    return sorted.map((row, i) => ({
      ...row,
      first: i === 0,
      opens: opens && i === 0,
      best: sorted[0].ns_per_token,
    }));
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
      { head: 'Model', class: 'small dim', cell: (row) => (row.opens ? row.model : '') },
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
        'Latest profile of each variant inside the model, model by model. A profile explains; what ' +
          'was accepted, an experiment decided. Bars: share of the fastest read seen here.',
      ),
      data.rows.length
        ? kernelTable(flat(data.rows))
        : empty('No profile is stored yet: it comes with an experiment whose arms differ.'),
    ),
};
