// How often predictions were right, per owner.
import { get } from '../api.js';
import { h } from '../dom.js';
import { empty, table } from '../parts.js';

const rate = (row) => {
  const n = row.inside + row.above + row.below;
  return n ? `${Math.round((100 * row.inside) / n)} % of ${n}` : '–';
};

export default {
  title: () => 'Owners',
  cli: () => 'steady journal --json',
  load: (params, query, signal) => get('/owners.json', signal),
  draw: (data) =>
    h(
      'div',
      null,
      h('h1', null, 'Predictions and results'),
      data.rows.length
        ? table(
            [
              {
                head: 'Owner',
                class: 'wide',
                cell: (row) =>
                  h('a', { href: `/?owner=${encodeURIComponent(row.owner)}` }, row.owner),
              },
              { head: 'Experiments', number: true, cell: (row) => row.experiments },
              { head: 'Accepted', number: true, cell: (row) => row.accepted },
              { head: 'Rejected', number: true, cell: (row) => row.rejected },
              { head: 'Inside the predicted range', number: true, cell: rate },
              { head: 'Above', number: true, cell: (row) => row.above },
              { head: 'Below', number: true, cell: (row) => row.below },
            ],
            data.rows,
            { label: 'Owners' },
          )
        : empty('No predictions yet.'),
    ),
};
