// Searches for the commit that changed a metric: those asked for, and the form that asks for one.
import { post, setToken, token } from './api.js';
import { show } from './navigation.js';
import { h, withCode } from './dom.js';
import { empty, experimentLink, machineName, time } from './parts.js';

const short = (revision) => (/^[0-9a-f]{40}$/.test(revision) ? revision.slice(0, 12) : revision);

const KINDS = { done: 'verdict-accept', failed: 'verdict-reject', running: 'state-running' };

function cancelButton(one) {
  return h(
    'button',
    {
      type: 'button',
      class: 'quiet small',
      'aria-label': `Cancel search ${one.id}`,
      onclick: async (event) => {
        const button = event.target;
        button.disabled = true;
        try {
          await post(`/api/bisections/${one.id}/cancel`, '{}');
          show();
        } catch (error) {
          button.textContent = error.message;
        }
      },
    },
    'Cancel',
  );
}

export function searchList(searches, hosts, withExperiment = false) {
  return h(
    'ul',
    { class: 'notes searches' },
    searches.map((one) =>
      h(
        'li',
        { id: `search-${one.id}` },
        h('span', { class: `badge ${KINDS[one.state] ?? 'state-queued'}` }, one.state),
        ' ',
        h('code', null, `${short(one.good)} … ${short(one.bad)}`),
        one.culprit ? [' · culprit ', h('code', null, one.culprit.slice(0, 12))] : null,
        one.note ? [' · ', h('span', { class: 'text' }, withCode(one.note))] : null,
        withExperiment ? [' · question of ', experimentLink(one.experiment)] : null,
        h('span', { class: 'dim small' }, ` · asked by ${one.asked_by}, `, time(one.at)),
        one.host ? [h('span', { class: 'dim small' }, ' · on ', machineName(one.host, hosts))] : null,
        token() && ['queued', 'running'].includes(one.state) ? [' ', cancelButton(one)] : null,
      ),
    ),
  );
}

// ends: the commits that stand in the form; experiment: whose question is asked.
export function bisectForm(experiment, ends, searches, hosts) {
  const said = h('span', { role: 'status', class: 'small' });
  const field = (id, value) =>
    h('input', { id, value: value ?? '', required: true, maxlength: 100, autocomplete: 'off' });
  const good = field('bisect-good', ends.good);
  const bad = field('bisect-bad', ends.bad);
  const commands = h('input', { id: 'bisect-commands', type: 'checkbox' });
  const secret = h('input', { id: 'bisect-token', type: 'password', autocomplete: 'off' });
  const asking = h(
    'label',
    { class: 'offscreen', hidden: true },
    h('span', null, 'Token with scope submit'),
    secret,
  );
  const ask = async (event) => {
    event.preventDefault();
    if (secret.value) setToken(secret.value);
    try {
      const { created } = await post(
        `/api/experiments/${encodeURIComponent(experiment)}/bisect${commands.checked ? '?commands=1' : ''}`,
        JSON.stringify({ good: good.value.trim(), bad: bad.value.trim() }),
      );
      said.textContent = created ? 'queued' : 'this search is open already';
      document.activeElement?.blur();
      show();
    } catch (error) {
      if (error.status === 401 || (error.status === 403 && !token())) {
        asking.hidden = false;
        asking.classList.remove('offscreen');
        secret.focus();
      }
      said.textContent = error.message;
    }
  };
  return [
    h(
      'p',
      { class: 'dim' },
      'A worker runs what ',
      h('code', null, 'steady bisect'),
      ' runs: it proves that the ends differ, tests commits between them, and confirms the culprit ' +
        'against its parent.',
    ),
    searches.length ? searchList(searches, hosts) : empty('No search yet.'),
    h(
      'form',
      { class: 'triage bisect', onsubmit: ask },
      h('label', null, h('span', null, 'Good, the older commit'), good),
      h('label', null, h('span', null, 'Bad, the newer one'), bad),
      h('label', { class: 'check-line' }, commands, ' for workers that take any command'),
      token() ? null : asking,
      h('button', { type: 'submit', id: 'bisect-ask' }, 'Search the commit'),
      said,
    ),
  ];
}
