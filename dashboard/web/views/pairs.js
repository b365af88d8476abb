// Every pair in the order in which it was measured: which arm went first, both values, their
// difference, and why a pair does not count.
import { get } from '../api.js';
import { h } from '../dom.js';
import { nanoseconds, percent } from '../format.js';
import { experimentLink, section, table } from '../parts.js';
import { figure } from '../charts/figure.js';

const value = (metric, x) =>
  x === null || x === undefined ? '–' : metric.endsWith('_ns') ? nanoseconds(x) : x.toPrecision(5);

function flat(pairs) {
  return pairs.flatMap((pair) => {
    const metrics = Object.entries(pair.values);
    return metrics.length
      ? metrics.map(([metric, values]) => ({ ...pair, metric, ...values }))
      : [{ ...pair, metric: '–', a: null, b: null, n: 0 }];
  });
}

function order(coins) {
  const firstB = [...coins].filter((coin) => coin === '1').length;
  return h(
    'span',
    {
      class: 'coins',
      title: `${coins.length - firstB} blocks with A first, ${firstB} with B first`,
    },
    coins.replaceAll('0', 'A').replaceAll('1', 'B'),
  );
}

export default {
  title: ([id]) => `Pairs of ${id}`,
  cli: ([id]) => `steady show ${id} --pairs --json`,
  every: 3000,
  load: ([id], query, signal) => get(`/x/${encodeURIComponent(id)}/pairs.json`, signal),
  draw: (data, params, query) => {
    const all = flat(data.pairs);
    const kinds = [...new Set(all.map((row) => row.metric))];
    const metric = query.get('metric') ?? (kinds.includes('token_ns') ? 'token_ns' : kinds[0]);
    const rows = all.filter((row) => row.metric === metric);
    return h(
      'div',
      null,
      h(
        'p',
        { class: 'crumbs' },
        h('a', { href: '/' }, 'Verdicts'),
        ' / ',
        experimentLink(data.id),
        ' / pairs',
      ),
      h('h1', null, 'Pairs'),
      data.d.length
        ? h(
            'div',
            { class: 'figures' },
            figure(
              data.id,
              'pairs',
              'Effect of each pair in the order measured, and the evidence over pairs',
            ),
          )
        : null,
      h(
        'div',
        { class: 'chips', role: 'group', 'aria-label': 'Raw metric' },
        kinds.map((kind) =>
          h(
            'a',
            {
              href: `?metric=${encodeURIComponent(kind)}`,
              class: kind === metric ? 'on' : null,
              'aria-current': kind === metric ? 'true' : null,
            },
            kind,
          ),
        ),
      ),
      section(
        'Measured',
        table(
          [
            {
              head: 'Pair',
              number: true,
              cell: (row) => `${row.number}${row.attempt ? ` (try ${row.attempt + 1})` : ''}`,
            },
            { head: 'Kind', cell: (row) => row.kind },
            { head: 'Gate', cell: (row) => row.gate },
            { head: 'First', cell: (row) => order(row.coins) },
            { head: 'A, median', number: true, cell: (row) => value(metric, row.a) },
            { head: 'B, median', number: true, cell: (row) => value(metric, row.b) },
            {
              head: 'B against A',
              number: true,
              cell: (row) => (row.a && row.b ? percent(row.a / row.b - 1) : '–'),
            },
            { head: 'Values', number: true, cell: (row) => row.n },
            {
              head: 'Does not count',
              class: 'dim',
              cell: (row) => row.discarded || (row.sealed ? '' : 'not measured'),
            },
          ],
          rows,
          { label: 'Pairs', rowClass: (row) => (row.discarded ? 'discarded' : null) },
        ),
      ),
    );
  },
};
