// The queue: running jobs with their interval so far, waiting jobs in the order in which they will
// run.
import { get, post, token } from '../api.js';
import { h, withCode } from '../dom.js';
import { empty, experimentLink, section, table, time } from '../parts.js';
import { searchList } from '../bisect.js';
import { runningRow } from './overview.js';

// A button that posts to the job's address and then shows `said` of the reply.
function lever(row, path, label, said) {
  return h(
    'button',
    {
      type: 'button',
      class: 'quiet',
      onclick: async (event) => {
        const button = event.target;
        button.disabled = true;
        try {
          button.textContent = said(
            await post(`/api/experiments/${encodeURIComponent(row.id)}/${path}`, '{}'),
          );
        } catch (error) {
          button.textContent = error.message;
        }
      },
    },
    label,
  );
}

function levers(row) {
  if (!token()) return '';
  const higher = Math.min(100, row.priority + 10);
  return [
    lever(row, `priority?priority=${higher}`, 'Earlier', (reply) => `priority ${reply.priority}`),
    ' ',
    lever(row, 'cancel', 'Cancel', (reply) => reply.state),
  ];
}

export default {
  title: () => 'Queue',
  cli: () => 'steady queue --json',
  every: 2000,
  load: (params, query, signal) => get('/q.json', signal),
  draw: (data) => {
    const running = data.queue.filter((row) => row.state === 'running');
    const waiting = data.queue.filter((row) => row.state === 'queued');
    return h(
      'div',
      null,
      h('h1', null, 'Queue'),
      section(
        'Running',
        running.length ? h('div', null, running.map((row) => runningRow(row, data.hosts))) : empty('No job running.'),
      ),
      section(
        'Waiting',
        waiting.length
          ? table(
              [
                { head: 'Place', number: true, cell: (row) => waiting.indexOf(row) + 1 },
                {
                  head: 'Question',
                  class: 'wide',
                  cell: (row) => [
                    h('div', { class: 'claim' }, experimentLink(row.id, row.claim)),
                    h('div', { class: 'dim small' }, row.id, ' · ', row.owner),
                  ],
                },
                { head: 'Priority', number: true, cell: (row) => row.priority },
                { head: 'Needs', cell: (row) => row.need_tags.join(', ') || 'any machine' },
                { head: 'Waiting since', class: 'dim', cell: (row) => time(row.queued_at) },
                {
                  head: 'Note',
                  class: 'dim',
                  cell: (row) => [
                    withCode(row.note ?? ''),
                    row.crashes ? ` (${row.crashes} crashes)` : '',
                  ],
                },
                { head: '', cell: levers },
              ],
              waiting,
              { label: 'Waiting experiments' },
            )
          : empty('Nothing waits.'),
      ),
      data.searches.length
        ? section('Searches for a commit', searchList(data.searches, data.hosts, true))
        : null,
    );
  },
};
