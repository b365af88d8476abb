// Pieces that several pages share: badges, effects, tables, times, things to copy.
import { append, h } from './dom.js';
import { ARROWS, ago, direction, interval, minute, percent, words } from './format.js';

const SIGNS = { accept: '\u2713', reject: '\u2715', inconclusive: '~', invalid: '!' };

export function badge(verdict, state, large = false) {
  const word = verdict || state || 'unknown';
  const kind = verdict ? `verdict-${verdict}` : `state-${state}`;
  return h(
    'span',
    { class: `badge ${kind}${large ? ' large' : ''}` },
    h(
      'span',
      { class: 'sign', 'aria-hidden': 'true' },
      SIGNS[verdict] ?? (state === 'running' ? '\u25b6' : '\u2026'),
    ),
    words(word),
  );
}

// Number with arrow; the interval always beside it.
export function effect(data, digits = 2) {
  if (data.effect === null || data.effect === undefined)
    return h('span', { class: 'effect none' }, '\u2013');
  const way = direction(data.effect, data.interval);
  return h(
    'span',
    { class: `effect ${way}` },
    h(
      'strong',
      null,
      h('span', { class: 'arrow', 'aria-hidden': 'true' }, ARROWS[way]),
      ' ',
      percent(data.effect, digits),
    ),
    ' ',
    h('span', { class: 'interval' }, interval(data.interval, digits)),
  );
}

export function time(iso) {
  if (!iso) return h('span', { class: 'dim' }, '\u2013');
  return h('time', { datetime: iso, title: `${minute(iso)} UTC` }, ago(iso));
}

export function experimentLink(id, text) {
  return h('a', { href: `/x/${encodeURIComponent(id)}` }, text ?? id);
}

// "AMD EPYC 9B14 96-Core Processor" → "AMD EPYC 9B14"; the machine's id stands in the title.
export function cpuName(model) {
  return (model ?? '')
    .replaceAll(/\((R|TM)\)/gi, '')
    .replace(/ @ .*$/, '')
    .replace(/\s+\d+-Core Processor.*$/, '')
    .replaceAll(/\s+(CPU|Processor)\b/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

// hosts: [{name, facts}]; two machines with one CPU differ by the beginning of their ids.
export function machineName(name, hosts) {
  if (!name) return '–';
  const cpu = cpuName(hosts?.find((one) => one.name === name)?.facts.cpu_model);
  if (!cpu) return h('span', { title: name }, name.length > 16 ? `${name.slice(0, 12)}…` : name);
  return h('span', { title: name }, cpu, h('span', { class: 'dim small' }, ` ${name.slice(0, 8)}`));
}

// A series' name ends in its machine's id, which is shown by its CPU.
export function seriesLink(name, hosts) {
  const at = name.lastIndexOf('-on-');
  const text = at < 0 ? name : name.slice(0, at);
  return [
    h('a', { href: `/s/${encodeURIComponent(name)}`, title: name }, text),
    at < 0 ? null : [h('span', { class: 'dim small' }, ' on '), machineName(name.slice(at + 4), hosts)],
  ];
}

// A value of an environment: hashes shortened, each with a button that copies the whole.
export function shortened(value) {
  if (value === null || value === undefined || value === '') return '–';
  const text = String(value);
  if (!/\b[0-9a-f]{32,}\b/.test(text)) return text;
  return [
    text.replaceAll(/\b[0-9a-f]{32,}\b/g, (hash) => `${hash.slice(0, 12)}…`),
    ' ',
    copyButton('Copy', text),
  ];
}

// An experiment's id without the hash of its file.
export function shortId(id) {
  return id.replace(/-[0-9a-f]{8}(-\d+)?(-r[0-9a-f]{8})?$/, '');
}

// columns: [{head, cell(row), number?, class?}]; every cell carries its heading for narrow screens.
export function table(columns, rows, options = {}) {
  const head = h(
    'tr',
    null,
    columns.map((column) =>
      column.head
        ? h('th', { scope: 'col', class: column.number ? 'number' : null }, column.head)
        : h('td', null),
    ),
  );
  const body = rows.map((row) =>
    h(
      'tr',
      { class: options.rowClass?.(row) },
      columns.map((column) =>
        h(
          'td',
          {
            'data-head': column.head,
            class: [column.number ? 'number' : '', column.class ?? ''].join(' ').trim() || null,
          },
          column.cell(row),
        ),
      ),
    ),
  );
  return h(
    'div',
    {
      class: 'scroll',
      tabindex: options.focusable === false ? null : '0',
      role: 'region',
      'aria-label': options.label ?? 'Table',
    },
    h('table', { class: options.class }, h('thead', null, head), h('tbody', null, body)),
  );
}

// Rows that do not matter stay folded; the button says how many there are.
export function folded(summary, ...children) {
  return h('details', null, h('summary', null, summary), children);
}

export function section(title, ...children) {
  const id = `s-${title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
  return h('section', { 'aria-labelledby': id }, h('h2', { id }, title), children);
}

export function facts(pairs) {
  return h(
    'dl',
    { class: 'facts' },
    pairs
      .filter(([, value]) => value !== null && value !== '')
      .map(([key, value]) => h('div', null, h('dt', null, key), h('dd', null, value))),
  );
}

export function copyButton(label, text) {
  const button = h('button', { type: 'button', class: 'quiet' }, label);
  button.addEventListener('click', async () => {
    const value = typeof text === 'function' ? await text() : text;
    await copy(value);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = label;
    }, 1500);
  });
  return button;
}

// The clipboard needs a secure context; plain http on another machine has none.
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = h('textarea', { class: 'offscreen', 'aria-hidden': 'true' });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
  return undefined;
}

const MACHINE_PAGES = [
  ['/hosts', 'Facts and noise'],
  ['/w', 'Workers'],
  ['/aa', 'A/A audit'],
];

// The three pages on machines, one row of tabs.
export function machineTabs(here) {
  return h(
    'nav',
    { class: 'chips', 'aria-label': 'Pages on machines' },
    MACHINE_PAGES.map(([href, label]) =>
      h(
        'a',
        { href, class: href === here ? 'on' : null, 'aria-current': href === here ? 'page' : null },
        label,
      ),
    ),
  );
}

export function command(text) {
  return h('div', { class: 'command' }, h('code', null, text), copyButton('Copy', text));
}

export function empty(...text) {
  return append(h('p', { class: 'empty' }), text);
}

export function progressBar(done, most, label) {
  const share = most > 0 ? Math.min(100, (100 * done) / most) : 0;
  const inner = h('span', null);
  inner.style.width = `${share}%`;
  return h(
    'span',
    {
      class: 'progress',
      role: 'progressbar',
      'aria-valuenow': done,
      'aria-valuemin': 0,
      'aria-valuemax': most,
      'aria-label': label,
    },
    inner,
  );
}
