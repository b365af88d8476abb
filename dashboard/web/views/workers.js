// Workers: what each machine runs now, and how its latest attempts ended.
import { get } from '../api.js';
import { h } from '../dom.js';
import { ago, duration } from '../format.js';
import { empty, experimentLink, facts, machineName, machineTabs, table, time } from '../parts.js';

function leaseText(row) {
  if (!row.running) return 'nothing';
  const left = (Date.parse(row.lease_until) - Date.now()) / 1000;
  return [
    experimentLink(row.running),
    h(
      'div',
      { class: 'dim small' },
      left > 0 ? `lease for ${duration(left)}` : `lease over ${ago(row.lease_until)}`,
    ),
  ];
}

function lasted(row) {
  if (!row.ended) return '–';
  return duration((Date.parse(row.ended) - Date.parse(row.began)) / 1000);
}

function card(row, alone) {
  return h(
    'article',
    { class: 'card' },
    h(
      'header',
      null,
      h(
        'h2',
        null,
        alone
          ? machineName(row.host, [{ name: row.host, facts: row.facts }])
          : h(
              'a',
              { href: `/w/${encodeURIComponent(row.host)}` },
              machineName(row.host, [{ name: row.host, facts: row.facts }]),
            ),
      ),
      row.draining ? h('span', { class: 'badge state-queued' }, 'draining') : null,
      row.running ? h('span', { class: 'badge state-running' }, '▶ working') : null,
    ),
    facts([
      ['Runs', leaseText(row)],
      ['Seen', time(row.seen_at)],
      ['Latest 200 attempts', `${row.done} done, ${row.ended_otherwise} ended otherwise`],
      ['Tags', row.tags.join(', ')],
      ['CPU', row.facts.cpu_model ?? ''],
      ['Kernel', row.facts.kernel ?? ''],
    ]),
    row.attempts.length
      ? table(
          [
            {
              head: 'Experiment',
              class: 'wide',
              cell: (one) => [
                experimentLink(one.experiment, one.claim || one.experiment),
                h('div', { class: 'dim small' }, one.experiment),
              ],
            },
            { head: 'Attempt', number: true, cell: (one) => one.epoch },
            { head: 'Began', class: 'dim nowrap', cell: (one) => time(one.began) },
            { head: 'Lasted', number: true, cell: lasted },
            { head: 'Ended', cell: (one) => one.how || 'still running' },
          ],
          row.attempts,
          { label: `Attempts on ${row.host}` },
        )
      : empty('No attempt yet.'),
  );
}

export default {
  title: ([host]) => (host ? `Worker ${host}` : 'Workers'),
  cli: () => 'steady queue --json',
  every: 2000,
  load: ([host], query, signal) =>
    get(host ? `/w/${encodeURIComponent(host)}.json` : '/w.json', signal),
  draw: (data, [host]) =>
    h(
      'div',
      null,
      h('h1', null, 'Machines'),
      machineTabs('/w'),
      data.workers.length
        ? h(
            'div',
            { class: 'stack' },
            data.workers.map((row) => card(row, Boolean(host))),
          )
        : empty('No machine has taken a job yet: run ', h('code', null, 'steady worker'), '.'),
    ),
};
