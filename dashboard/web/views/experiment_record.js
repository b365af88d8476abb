// The context of an experiment: machine, attempts, comparable experiments, commands to repeat it.
import { go } from '../navigation.js';
import { h } from '../dom.js';
import { words } from '../format.js';
import { command, empty, experimentLink, facts, folded, machineName, section, table, time } from '../parts.js';

export function environment(data) {
  const known = data.environment.facts;
  const gpu = ['gpu0_name', 'gpu0_driver'].filter((key) => known[key]);
  const first = ['cpu_model', 'cpus', ...gpu, 'kernel', 'governor', 'steady_revision'];
  const rest = Object.entries(known).filter(([key]) => !first.includes(key));
  if (!Object.keys(known).length) return null;
  return section(
    'Environment',
    facts(first.map((key) => [words(key), known[key] ?? ''])),
    data.environment.changed.length
      ? [
          h('p', { class: 'note' }, 'Changed between attempts:'),
          table(
            [
              { head: 'Fact', cell: (row) => row.key },
              { head: 'First attempt', cell: (row) => row.a ?? '–' },
              { head: 'Last attempt', cell: (row) => row.b ?? '–' },
            ],
            data.environment.changed,
            { label: 'Changes of environment' },
          ),
        ]
      : null,
    rest.length
      ? folded(`${rest.length} more facts`, facts(rest.map(([key, value]) => [words(key), value])))
      : null,
  );
}

// The environment is the latest attempt's.
function machineHere(host, data) {
  const latest = data.attempts.at(-1).host === host;
  return machineName(host, latest ? [{ name: host, facts: data.environment.facts }] : []);
}

export function attempts(data) {
  const earlier = data.earlier ?? [];
  return section(
    'Attempts',
    data.attempts.length === 1
      ? h(
          'p',
          null,
          'One, on ',
          machineHere(data.attempts[0].host, data),
          ', began ',
          time(data.attempts[0].began),
          `: ${data.attempts[0].how || 'running'}.`,
        )
      : null,
    data.attempts.length > 1
      ? table(
          [
            { head: 'No', cell: (row) => row.epoch },
            { head: 'Machine', cell: (row) => machineHere(row.host, data) },
            { head: 'Began', class: 'dim', cell: (row) => time(row.began) },
            { head: 'Ended', class: 'dim', cell: (row) => (row.ended ? time(row.ended) : '–') },
            { head: 'How', cell: (row) => row.how || 'running' },
          ],
          data.attempts,
          { label: 'Attempts in order' },
        )
      : null,
    data.attempts.length ? null : empty('Not begun.'),
    earlier.length
      ? h(
          'p',
          null,
          'Asked before: ',
          earlier.map((id, i) => [
            i ? ', ' : '',
            experimentLink(id),
            ' (',
            h('a', { href: `/compare/${id}...${data.id}` }, 'compare'),
            ')',
          ]),
        )
      : h('p', { class: 'dim' }, 'No evidence of an earlier experiment is carried over.'),
    data.spec.retry_if ? h('p', null, 'Worth another try when ', data.spec.retry_if, '.') : null,
    whoDid(data.who_did ?? []),
    compareForm(data),
  );
}

// The token's name, or the login at the command line.
function whoDid(deeds) {
  if (!deeds.length) return null;
  return h(
    'p',
    { class: 'dim small who-did' },
    deeds.map((one, i) => [
      i ? ' · ' : '',
      `${one.what} by ${one.actor}${one.detail ? ` (${one.detail})` : ''} `,
      time(one.at),
    ]),
  );
}

function compareForm(data) {
  const other = h('input', {
    id: 'compare-with',
    placeholder: 'an id, or the name in its file',
    autocomplete: 'off',
    required: true,
  });
  return h(
    'form',
    {
      class: 'filters',
      onsubmit: (event) => {
        event.preventDefault();
        go(`/compare/${encodeURIComponent(other.value.trim())}...${data.id}`);
      },
    },
    h('label', { class: 'grow' }, h('span', null, 'Compare with'), other),
    h('button', { type: 'submit' }, 'Compare'),
  );
}

export function repeat(data) {
  return section(
    'Repeat',
    command(`steady rerun ${data.id}`),
    command(`steady show ${data.id} --pairs`),
    command(`steady decide ${data.id}`),
    facts(
      [
        ['Specification', h('code', { class: 'hash' }, data.spec_sha256)],
        ['Seed', h('code', null, data.seed)],
        ['Engine', h('code', { class: 'hash' }, data.environment.facts.engine_sha256 ?? '')],
        ['Model', h('code', { class: 'hash' }, data.environment.facts.model_sha256 ?? '')],
      ].filter(([, node]) => node.textContent),
    ),
    folded('The experiment file', h('pre', { tabindex: '0' }, JSON.stringify(data.spec, null, 2))),
  );
}
