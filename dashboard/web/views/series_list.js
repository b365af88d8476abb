// Regression tracking: one row per question of the standing suite and machine; rows that need
// triage come first.
import { go } from '../navigation.js';
import { spark } from '../charts/spark.js';
import { h } from '../dom.js';
import { percent } from '../format.js';
import { withHosts } from '../names.js';
import { empty, machineName, table, time } from '../parts.js';

const against = (row) => (row.ratio && row.level ? row.ratio / row.level - 1 : null);

function standing(row) {
  const away = against(row);
  if (away === null) return h('span', { class: 'dim' }, 'nothing measured');
  const loud = Math.abs(Math.log1p(away)) > 2 * row.noise;
  const way = !loud ? 'undecided' : away < 0 ? 'worse' : 'better';
  return h(
    'span',
    { class: `effect ${way}` },
    h('strong', null, loud ? (away < 0 ? '▼ ' : '▲ ') : '~ ', percent(away, 1)),
  );
}

function open(row) {
  if (!row.open_changes) return h('span', { class: 'dim' }, 'none');
  return h(
    'span',
    { class: `badge ${row.last_shift < 0 ? 'verdict-reject' : 'verdict-accept'}` },
    `${row.open_changes} · ${row.last_shift < 0 ? '▼' : '▲'} ${percent(row.last_shift, 1)}`,
  );
}

// Two commits over all series.
function twoCommits() {
  const field = (id, label) =>
    h(
      'label',
      null,
      h('span', null, label),
      h('input', {
        id,
        required: true,
        pattern: '[0-9a-f]{7,40}',
        placeholder: '7 to 40 digits',
        title: 'the first 7 to 40 hexadecimal digits of a measured commit',
        autocomplete: 'off',
      }),
    );
  return h(
    'form',
    {
      class: 'filters',
      onsubmit: (event) => {
        event.preventDefault();
        const [a, b] = ['commit-a', 'commit-b'].map((id) => document.getElementById(id).value);
        go(`/revisions/${a}...${b}`);
      },
    },
    field('commit-a', 'Commit A'),
    field('commit-b', 'Commit B'),
    h('button', { type: 'submit' }, 'Compare'),
  );
}

export default {
  title: () => 'Trends',
  cli: () => 'steady track --list --json',
  every: 10000,
  busy: () =>
    Boolean(document.activeElement?.closest('.filters') || document.querySelector('.pick:checked')),
  load: (params, query, signal) => withHosts('/s.json', signal),
  draw: (data) =>
    h(
      'div',
      null,
      h('h1', null, 'Trends'),
      h(
        'p',
        { class: 'actions' },
        h('a', { class: 'button quiet', href: '/alerts' }, 'Alerts'),
        h(
          'button',
          {
            type: 'button',
            onclick: () => {
              const names = [...document.querySelectorAll('.pick:checked')].map((one) => one.value);
              const chosen = names.length ? names : data.rows.slice(0, 4).map((row) => row.name);
              go(`/together?s=${chosen.map(encodeURIComponent).join(',')}`);
            },
          },
          'Chart together',
        ),
      ),
      twoCommits(),
      h(
        'p',
        { class: 'dim' },
        'Each commit in pairs with one pinned reference: the machine’s own drift cancels, so a new ' +
          'level is a change of the code.',
      ),
      data.rows.length
        ? table(
            [
              {
                head: 'Series',
                class: 'wide',
                cell: (row) => [
                  h(
                    'div',
                    { class: 'claim' },
                    h(
                      'a',
                      { href: `/s/${row.name}` },
                      row.source ? row.claim : row.watch.replace(/^watch-/, '').split(':').at(-1),
                    ),
                  ),
                  h(
                    'div',
                    { class: 'dim small' },
                    `${row.model} on `,
                    machineName(row.host, data.hosts),
                    row.source ? ` · imported from ${row.source}` : '',
                  ),
                ],
              },
              {
                head: 'Chart',
                cell: (row) =>
                  h('input', {
                    type: 'checkbox',
                    class: 'pick',
                    value: row.name,
                    'aria-label': `Show ${row.name} in one chart`,
                  }),
              },
              { head: 'Open changes', cell: open },
              {
                head: '× reference',
                number: true,
                cell: (row) => (row.ratio ? h('strong', null, `${row.ratio.toFixed(2)}×`) : '–'),
              },
              { head: 'Against its level', number: true, cell: standing },
              { head: 'Last 60', cell: (row) => spark(row.recent, row.level) },
              {
                head: 'Latest commit',
                cell: (row) =>
                  row.latest_commit
                    ? [
                        h('code', null, row.latest_commit.slice(0, 10)),
                        h('div', { class: 'dim small subject' }, row.latest_subject),
                      ]
                    : '–',
              },
              { head: 'Measured', class: 'dim nowrap', cell: (row) => time(row.latest_at) },
            ],
            data.rows,
            { class: 'verdicts series', label: 'Series', focusable: false },
          )
        : empty(
            'No series yet. ',
            h('code', null, './steady track --backfill 20'),
            ' builds and measures the last twenty commits of Steady, ',
            h('code', null, './steady track --repo NAME --backfill 20'),
            ' those of another program, ',
            h('code', null, './steady import --adapter NAME FILE'),
            ' reads the history of another benchmark program.',
          ),
    ),
};
