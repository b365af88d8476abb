// Two experiments side by side. Where the machines differ no number of one is set against a number
// of the other: the page says what differs and offers a rerun instead.
import { get } from '../api.js';
import { h } from '../dom.js';
import { bytes, words } from '../format.js';
import {
  badge,
  command,
  effect,
  empty,
  experimentLink,
  section,
  shortened,
  shortId,
  table,
} from '../parts.js';

// A count of bytes as people read it.
const fact = (key, value) =>
  /_bytes$/.test(key) && /^\d+$/.test(value ?? '') ? bytes(Number(value)) : shortened(value);

function gateRows(data) {
  const rows = new Map();
  for (const side of ['a', 'b']) {
    for (const gate of data[side].analysis?.gates ?? []) {
      const key = `${gate.level} ${gate.id} ${gate.metric}`;
      if (!rows.has(key)) rows.set(key, { key, gate });
      rows.get(key)[side] = gate;
    }
  }
  return [...rows.values()];
}

const cell = (gate) =>
  gate ? [effect(gate), ' ', h('span', { class: 'dim small' }, gate.outcome)] : '–';

export default {
  title: ([pair]) => `Compare ${pair}`,
  cli: ([pair]) => `steady compare ${pair.replace('...', ' ')} --json`,
  load: ([pair], query, signal) => get(`/compare/${encodeURIComponent(pair)}.json`, signal),
  draw: (data, [pair]) => {
    const other = pair.split('...').reverse().join('...');
    return h(
      'div',
      null,
      h('h1', null, 'Compare'),
      h('p', null, h('a', { href: `/compare/${other}` }, 'Swap sides')),
      h(
        'div',
        { class: 'cards two' },
        ['a', 'b'].map((side) =>
          h(
            'article',
            { class: 'card' },
            h(
              'header',
              null,
              badge(data[side].analysis?.verdict, data[side].state),
              experimentLink(data[side].id),
            ),
            h('p', { class: 'claim' }, data[side].claim),
            data[side].analysis ? effect(data[side].analysis) : empty('No verdict yet.'),
          ),
        ),
      ),
      data.unlike.length
        ? h(
            'div',
            { class: 'problem', role: 'alert' },
            h('h2', null, 'Measured on different machines'),
            h(
              'p',
              null,
              `Different: ${data.unlike.map(words).join(', ')}. ` +
                'Each effect is relative to its own baseline; absolute times must not be compared. ' +
                'Measure again on one machine:',
            ),
            command(`steady rerun ${data.a.id}`),
          )
        : null,
      section(
        'Gates',
        table(
          [
            {
              head: 'Gate',
              class: 'wide',
              cell: (row) => [
                row.gate.id,
                ' ',
                h('span', { class: 'dim' }, row.gate.level, ' ', row.gate.metric),
              ],
            },
            { head: shortId(data.a.id), number: true, class: 'wrap', cell: (row) => cell(row.a) },
            { head: shortId(data.b.id), number: true, class: 'wrap', cell: (row) => cell(row.b) },
          ],
          gateRows(data),
          { label: 'Gates of both' },
        ),
      ),
      section(
        'Environment',
        data.environment.length
          ? table(
              [
                { head: 'Fact', class: 'wrap', cell: (row) => words(row.key) },
                { head: shortId(data.a.id), class: 'wrap', cell: (row) => fact(row.key, row.a) },
                { head: shortId(data.b.id), class: 'wrap', cell: (row) => fact(row.key, row.b) },
              ],
              data.environment,
              { label: 'Differences of environment', class: 'halves' },
            )
          : empty('No difference.'),
      ),
    );
  },
};
