// Two commits over all benchmarks: what moved by more than its noise first, the rest folded.
import { h } from '../dom.js';
import { withHosts } from '../names.js';
import { effect, empty, folded, section, seriesLink, table } from '../parts.js';

function rowsTable(rows, label, hosts) {
  return table(
    [
      {
        head: 'Series',
        class: 'wide wrap',
        cell: (row) => seriesLink(row.series.name, hosts),
      },
      { head: 'Metric', cell: (row) => h('code', null, row.series.metric) },
      { head: 'A, × reference', number: true, cell: (row) => row.a.ratio.toFixed(4) },
      { head: 'B, × reference', number: true, cell: (row) => row.b.ratio.toFixed(4) },
      {
        head: 'B against A',
        number: true,
        cell: (row) =>
          row.unlike
            ? h('span', { class: 'dim' }, 'machine or method differs: measure again')
            : effect({ effect: row.change, interval: row.interval }),
      },
    ],
    rows,
    { label },
  );
}

export default {
  title: ([pair]) => `Commits ${pair}`,
  cli: () => 'steady export SERIES --format csv --table series',
  load: ([pair], query, signal) => withHosts(`/revisions/${encodeURIComponent(pair)}.json`, signal),
  draw: (data) => {
    const moved = data.rows.filter((row) => row.relevant);
    const rest = data.rows.filter((row) => !row.relevant);
    return h(
      'div',
      null,
      h('p', { class: 'crumbs' }, h('a', { href: '/s' }, 'Trends'), ' / Two commits'),
      h('h1', null, h('code', null, data.a.slice(0, 12)), ' … ', h('code', null, data.b.slice(0, 12))),
      h(
        'p',
        { class: 'dim' },
        'Each series compares both commits with one reference on one machine. The interval is that ' +
          'of two single points of the series; a direct A/B is sharper: ',
        h('code', null, `steady ab --rev ${data.a.slice(0, 12)} --rev ${data.b.slice(0, 12)} …`),
      ),
      data.rows.length ? null : empty('No series measured both commits.'),
      moved.length
        ? section('Moved', rowsTable(moved, 'Series that moved', data.hosts))
        : data.rows.length
          ? section('Moved', empty('None by more than its noise.'))
          : null,
      rest.length
        ? folded(`${rest.length} within their noise, or not comparable`, rowsTable(rest, 'The rest', data.hosts))
        : null,
    );
  },
};
