// Notes and marks on a series: their list, and the form to add one.
import { post, setToken, token } from './api.js';
import { show } from './navigation.js';
import { h } from './dom.js';
import { empty, time } from './parts.js';

const KINDS = { note: 'note', mark: 'mark: a level begins here' };

// Posts, then draws again.
async function write(path, body, said, asking) {
  try {
    await post(path, JSON.stringify(body));
    document.activeElement?.blur();
    show();
  } catch (error) {
    if (error.status === 401 || error.status === 403) asking();
    said.textContent = error.message;
  }
}

function noteItem(base, note, said, asking) {
  return h(
    'li',
    { id: `note-${note.id}` },
    h('span', { class: 'badge state-failed' }, `${note.number} · ${note.kind}`),
    ' at ',
    h('code', null, note.commit.slice(0, 10)),
    ' ',
    h('span', { class: 'text' }, note.text),
    h('span', { class: 'dim small' }, ' ', note.author, ', ', time(note.at)),
    ' ',
    h(
      'button',
      {
        type: 'button',
        class: 'quiet small',
        'aria-label': `Remove ${note.kind} ${note.number}`,
        onclick: () => write(`${base}/${note.id}/remove`, {}, said, asking),
      },
      'Remove',
    ),
  );
}

// notes: with their number; at: the commit that is chosen in the chart.
export function notesOf(series, notes, at) {
  const base = `/api/series/${encodeURIComponent(series)}/notes`;
  const said = h('span', { role: 'status', class: 'small' });
  const commit = h('input', {
    id: 'note-commit',
    value: at ?? '',
    required: true,
    pattern: '[0-9a-f]{7,40}',
    title: '7 to 40 hex digits of a commit of this series',
    autocomplete: 'off',
  });
  const kind = h(
    'select',
    { id: 'note-kind' },
    Object.entries(KINDS).map(([value, label]) => h('option', { value }, label)),
  );
  const words = h('input', { id: 'note-text', required: true, maxlength: 1000, autocomplete: 'off' });
  const secret = h('input', { id: 'note-token', type: 'password', autocomplete: 'off' });
  const field = h(
    'label',
    { class: 'offscreen', hidden: true },
    h('span', null, 'Token with scope submit'),
    secret,
  );
  const asking = () => {
    field.hidden = false;
    field.classList.remove('offscreen');
    secret.focus();
  };
  const useToken = () => {
    if (secret.value) setToken(secret.value);
  };
  return [
    notes.length
      ? h(
          'ul',
          { class: 'notes' },
          notes.map((note) =>
            noteItem(base, note, said, () => {
              useToken();
              asking();
            }),
          ),
        )
      : empty('None. A note or mark carries the name of the token that wrote it.'),
    h(
      'form',
      {
        class: 'triage',
        onsubmit: (event) => {
          event.preventDefault();
          useToken();
          write(base, { commit: commit.value, kind: kind.value, text: words.value }, said, asking);
        },
      },
      h('label', null, h('span', null, 'Kind'), kind),
      h('label', null, h('span', null, 'Commit'), commit),
      h('label', { class: 'grow' }, h('span', null, 'Text'), words),
      token() ? null : field,
      h('button', { type: 'submit', id: 'note-save' }, 'Add'),
      said,
    ),
  ];
}
