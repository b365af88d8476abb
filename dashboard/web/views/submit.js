// The editor for experiments. The server checks the text while it is typed, with the decoder of the
// command line, and previews the plan. Submitting needs a token with the scope submit.
import { get, post, setToken, token } from '../api.js';
import { go } from '../navigation.js';
import { append, h, replace, withCode } from '../dom.js';
import { facts, table } from '../parts.js';

const START = `{
  "id": "my-first-question",
  "owner": "me",
  "hypothesis": {
    "claim": "Vector instructions make the routed experts faster",
    "because": "one load feeds many products instead of one",
    "predict": { "metric": "decode_tps", "change": ["+100%", "+600%"] }
  },
  "subject": {
    "program": "steady-engine",
    "model": "synth-tiny-glm-4.7-flash-s1.gguf", // made on need
    "workload": "prose",
    "threads": 2
  },
  "arms": {
    "A": { "kernels": { "q4_0_experts": "reference" } },
    "B": { "kernels": { "q4_0_experts": "avx2" } }
  },
  "expect_diff": ["kernels.q4_0_experts"],
  "gates": [
    { "id": "tokens", "level": "correctness", "role": "guard",
      "need": { "top1_agree": ">=0.9", "kl": "<=0.02" } },
    { "id": "decode", "level": "model", "role": "decides",
      "metric": "decode_tps", "worth": "5%" }
  ]
}
`;

let draft = null;

function showErrors(box, reply, area) {
  const jump = (error) => {
    const lines = area.value.split('\n');
    const start =
      lines.slice(0, error.line - 1).reduce((total, line) => total + line.length + 1, 0) +
      Math.max(0, error.column - 1);
    area.focus();
    area.setSelectionRange(
      start,
      start + Math.max(1, (lines[error.line - 1] ?? '').length - error.column + 1),
    );
  };
  replace(
    box,
    h('h2', null, reply.errors.length === 1 ? '1 error' : `${reply.errors.length} errors`),
    h(
      'ol',
      { class: 'errors' },
      reply.errors.map((error) =>
        h(
          'li',
          null,
          h(
            'button',
            { type: 'button', class: 'link', onclick: () => jump(error) },
            `line ${error.line}, column ${error.column}`,
          ),
          ' ',
          h('code', null, error.pointer || '(whole file)'),
          h(
            'p',
            null,
            'Found ',
            h('strong', null, error.found),
            '; allowed: ',
            error.allowed,
            error.hint ? `. ${error.hint}` : '',
          ),
        ),
      ),
    ),
  );
}

function showPlan(box, reply) {
  const { plan } = reply;
  append(replace(box, h('h2', null, 'What would run')), [
    plan.undeclared?.length
      ? h(
          'p',
          { class: 'note' },
          `The arms also differ in ${plan.undeclared.join(', ')}, which expect_diff does not name: the verdict would be invalid.`,
        )
      : null,
    plan.missing?.length
      ? h(
          'p',
          { class: 'note' },
          `expect_diff names ${plan.missing.join(', ')}, but the arms do not differ there.`,
        )
      : null,
    reply.warnings.map((warning) => h('p', { class: 'note' }, warning)),
    facts([
      ['Claim', plan.claim],
      ['Model', plan.model],
      ['Mode', plan.mode.replace('_', ' ')],
      ['Pairs', `at most ${plan.pairs_max}, and ${plan.aa_pairs} of A against A`],
      ['Tokens per pair and arm', String(plan.tokens_per_pair)],
      ['Arms may differ in', plan.expect_diff.join(', ') || 'nothing'],
      ['Decided by', plan.decides ?? 'none: at best inconclusive'],
    ]),
    table(
      [
        { head: 'Gate', cell: (row) => row.id },
        { head: 'Level', cell: (row) => row.level },
        { head: 'Role', cell: (row) => row.role },
        {
          head: 'Metric',
          cell: (row) => h('code', null, [row.metric, row.op].filter(Boolean).join(' ')),
        },
      ],
      plan.gates,
      { label: 'Planned gates' },
    ),
    plan.tried
      ? h(
          'p',
          null,
          h(
            'a',
            { href: `/j?q=${encodeURIComponent(plan.tried)}` },
            `Search the journal for ${plan.tried}`,
          ),
        )
      : null,
  ]);
}

export default {
  title: () => 'Submit',
  cli: () => 'steady validate FILE && steady submit FILE',
  load: () => Promise.resolve({}),
  draw: () => {
    const result = h(
      'div',
      { class: 'result', role: 'status', 'aria-live': 'polite' },
      h('p', { class: 'dim' }, 'Checking …'),
    );
    const area = h('textarea', {
      id: 'spec',
      spellcheck: 'false',
      autocapitalize: 'off',
      'aria-label': 'Experiment file',
      rows: 30,
      wrap: 'off',
    });
    area.value = draft ?? START;
    const button = h('button', { type: 'submit', disabled: true }, 'Put into the queue');
    const said = h('p', { role: 'alert' });
    let turn = 0;
    let timer = 0;
    const check = async () => {
      const mine = (turn += 1);
      draft = area.value;
      try {
        const reply = await post('/api/validate', area.value);
        if (mine !== turn) return;
        button.disabled = !reply.valid;
        if (reply.valid) showPlan(result, reply);
        else showErrors(result, reply, area);
      } catch (error) {
        if (mine === turn) replace(result, h('p', { class: 'note' }, withCode(error.message)));
      }
    };
    area.addEventListener('input', () => {
      button.disabled = true;
      clearTimeout(timer);
      timer = setTimeout(check, 200);
    });
    const key = h('input', {
      type: 'password',
      id: 'token',
      autocomplete: 'off',
      value: token(),
      oninput: (event) => setToken(event.target.value),
    });
    const form = h(
      'form',
      {
        class: 'submit',
        onsubmit: async (event) => {
          event.preventDefault();
          button.disabled = true;
          replace(said, '');
          try {
            const reply = await post('/api/experiments', area.value);
            go(reply.url);
          } catch (error) {
            button.disabled = false;
            replace(said, error.message);
          }
        },
      },
      h(
        'div',
        { class: 'editor' },
        h(
          'label',
          { for: 'spec' },
          'Experiment file ',
          h('span', { class: 'dim' }, '(JSON; // comments allowed) · '),
          h('a', { href: '/submit.json' }, 'schema'),
        ),
        area,
      ),
      h(
        'div',
        { class: 'side' },
        result,
        h('label', { for: 'token' }, 'Token with scope submit, kept in this tab only'),
        key,
        button,
        said,
      ),
    );
    queueMicrotask(check);
    return h('div', null, h('h1', null, 'Submit an experiment'), form);
  },
};

export const schema = () => get('/submit.json');
