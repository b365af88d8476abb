// The form in which people say what a change or an alert is.
import { post, setToken, token } from './api.js';
import { show } from './navigation.js';
import { h } from './dom.js';

const STATES = ['new', 'acknowledged', 'fixed', 'wrong'];

// id: prefix of the controls' ids; path: where it is posted; one: state, owner and note as they are.
export function triageForm(id, path, one) {
  const said = h('span', { role: 'status', class: 'small' });
  const state = h(
    'select',
    { id: `${id}-state` },
    STATES.map((word) => h('option', { value: word, selected: word === one.state }, word)),
  );
  const owner = h('input', { id: `${id}-owner`, value: one.owner, maxlength: 64, autocomplete: 'off' });
  const note = h('input', { id: `${id}-note`, value: one.note, maxlength: 500, autocomplete: 'off' });
  const secret = h('input', { id: `${id}-token`, type: 'password', autocomplete: 'off' });
  const asking = h(
    'label',
    { class: 'offscreen', hidden: true },
    h('span', null, 'Token with scope submit'),
    secret,
  );
  const save = async (event) => {
    event.preventDefault();
    if (secret.value) setToken(secret.value);
    try {
      await post(path, JSON.stringify({ state: state.value, owner: owner.value, note: note.value }));
      document.activeElement?.blur();
      show();
    } catch (error) {
      if (error.status === 401 || error.status === 403) {
        asking.hidden = false;
        asking.classList.remove('offscreen');
        secret.focus();
      }
      said.textContent = error.message;
    }
  };
  return h(
    'form',
    { class: 'triage', onsubmit: save },
    h('label', null, h('span', null, 'State'), state),
    h('label', null, h('span', null, 'Who looks after it'), owner),
    h('label', { class: 'grow' }, h('span', null, 'Note'), note),
    token() ? null : asking,
    h('button', { type: 'submit', id: `${id}-save` }, 'Save'),
    said,
  );
}
