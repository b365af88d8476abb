// The queue: running jobs with their interval so far, waiting jobs in the order in which they will
// run.
import { get, post, token } from '../api.js';
import { h } from '../dom.js';
import { empty, experimentLink, section, table, time } from '../parts.js';
import { runningRow } from './overview.js';

function cancelButton(row) {
  if (!token()) return '';
  return h(
    'button',
    {
      type: 'button',
      class: 'quiet',
      onclick: async (event) => {
        const button = event.target;
        button.disabled = true;
        try {
          const reply = await post(`/api/experiments/${encodeURIComponent(row.id)}/cancel`, '{}');
          button.textContent = reply.state;
        } catch (error) {
          button.textContent = error.message;
        }
      },
    },
    'Cancel',
  );
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
        running.length ? h('div', null, running.map(runningRow)) : empty('No job running.'),
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
                  cell: (row) => [row.note, row.crashes ? ` (${row.crashes} crashes)` : ''],
                },
                { head: '', cell: cancelButton },
              ],
              waiting,
              { label: 'Waiting experiments' },
            )
          : empty('Nothing waits.'),
      ),
    );
  },
};
