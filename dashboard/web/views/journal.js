// The journal: every verdict with its entry, searchable by the words of the experiment file, so
// that a rejected idea is found before it is tried again.
import { get } from '../api.js';
import { go, typed } from '../navigation.js';
import { h, withCode } from '../dom.js';
import { day, words } from '../format.js';
import { badge, effect, empty, experimentLink, table } from '../parts.js';

function search(query) {
  return h(
    'form',
    { class: 'filters', role: 'search', onsubmit: (event) => event.preventDefault() },
    h(
      'label',
      { class: 'grow' },
      h('span', null, 'Flags, ops or words'),
      h('input', {
        id: 'journal-search',
        type: 'search',
        value: query.get('q') ?? '',
        placeholder: 'q4_0_experts fused',
        autocomplete: 'off',
        oninput: typed((value) => go(value ? `/j?q=${encodeURIComponent(value)}` : '/j', true)),
      }),
    ),
  );
}

function missing({ word, near }) {
  return `Nothing has “${word}”${near.length ? `; near: ${near.join(', ')}` : ''}. `;
}

function summary({ rows, nearest, unknown }, asked) {
  if (!asked) return null;
  if (nearest) {
    return h(
      'p',
      { class: 'lead', role: 'status' },
      'Never tried. ',
      unknown.map(missing).join(''),
      rows.length ? 'These have some of the words:' : '',
    );
  }
  const tally = {};
  for (const row of rows) tally[row.verdict] = (tally[row.verdict] ?? 0) + 1;
  const parts = Object.entries(tally).map(([verdict, n]) => `${n} ${verdict}`);
  return h(
    'p',
    { class: 'lead', role: 'status' },
    rows.length ? `Tried ${rows.length} times: ${parts.join(', ')}.` : 'Never tried.',
  );
}

export default {
  title: () => 'Journal',
  cli: (params, query) =>
    query.get('q') ? `steady tried ${query.get('q')}` : 'steady journal --json',
  load: (params, query, signal) =>
    get(`/j.json?q=${encodeURIComponent(query.get('q') ?? '')}`, signal),
  draw: (data, params, query) =>
    h(
      'div',
      null,
      h('h1', null, 'Journal'),
      h(
        'p',
        { class: 'dim' },
        'All verdicts, including rejected ideas. ',
        h('a', { href: '/owners' }, 'How often predictions held'),
        '.',
      ),
      search(query),
      summary(data, query.get('q')),
      data.rows.length
        ? table(
            [
              { head: 'Day', class: 'dim nowrap', cell: (row) => day(row.decided_at) },
              {
                head: 'Verdict',
                cell: (row) => [
                  badge(row.verdict),
                  row.reason ? h('span', { class: 'reason' }, words(row.reason)) : null,
                ],
              },
              {
                head: 'Entry',
                class: 'wide',
                cell: (row) => [
                  h(
                    'div',
                    { class: 'claim' },
                    row.file
                      ? row.claim || row.id
                      : h('a', { href: `/j/${encodeURIComponent(row.slug)}` }, row.claim || row.id),
                  ),
                  row.sentence ? h('div', { class: 'small' }, withCode(row.sentence)) : null,
                  row.runs > 1
                    ? h('div', { class: 'small' }, `${row.runs} runs: ${row.together}`)
                    : null,
                  row.file
                    ? h('div', { class: 'dim small' }, row.id, ' · steady import ', row.file)
                    : h('div', { class: 'dim small' }, experimentLink(row.id), ' · ', row.owner),
                ],
              },
              { head: 'Effect', number: true, cell: (row) => effect(row) },
            ],
            data.rows,
            { class: 'verdicts', label: 'Journal entries, newest first' },
          )
        : query.get('q')
          ? null
          : empty('No entry yet. Each verdict writes one.'),
    ),
};
