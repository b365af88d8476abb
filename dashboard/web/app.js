// Addresses to views. A view is {title, cli, load(params, query, signal) → data, draw(data, params,
// query) → node, every?: ms}; it is drawn again when its data changed, so pages live without reload
// and all state is in the address.
import { ApiError, setToken, token } from './api.js';
import { h, replace, withCode } from './dom.js';
import { drawBy, go, isTyping } from './navigation.js';

const VIEWS = [
  [/^\/$/, () => import('./views/overview.js')],
  [/^\/experiments$/, () => import('./views/overview.js')],
  [/^\/x\/([^/]+)$/, () => import('./views/experiment.js')],
  [/^\/x\/([^/]+)\/pairs$/, () => import('./views/pairs.js')],
  [/^\/compare\/(.+)$/, () => import('./views/compare.js')],
  [/^\/j$/, () => import('./views/journal.js')],
  [/^\/tried$/, () => import('./views/journal.js')],
  [/^\/kernels$/, () => import('./views/kernels.js')],
  [/^\/hosts$/, () => import('./views/hosts.js')],
  [/^\/hosts\/([^/]+)$/, () => import('./views/host.js')],
  [/^\/together$/, () => import('./views/together.js')],
  [/^\/s$/, () => import('./views/series_list.js')],
  [/^\/s\/([^/]+)$/, () => import('./views/series.js')],
  [/^\/revisions\/([^/]+)$/, () => import('./views/revisions.js')],
  [/^\/alerts$/, () => import('./views/alerts.js')],
  [/^\/aa$/, () => import('./views/audit.js')],
  [/^\/w$/, () => import('./views/workers.js')],
  [/^\/w\/([^/]+)$/, () => import('./views/workers.js')],
  [/^\/q$/, () => import('./views/queue.js')],
  [/^\/owners$/, () => import('./views/owners.js')],
  [/^\/submit$/, () => import('./views/submit.js')],
];

// Pages without a place of their own in the navigation, and under which they are found.
const HOME_OF = {
  '/x': '/',
  '/experiments': '/',
  '/compare': '/',
  '/owners': '/j',
  '/tried': '/j',
  '/w': '/hosts',
  '/aa': '/hosts',
  '/alerts': '/s',
  '/revisions': '/s',
  '/together': '/s',
};

const main = document.getElementById('main');
const cli = document.getElementById('cli');
const live = document.getElementById('live');
let current = 0;
let controller = null;

function markNavigation(path) {
  const root = `/${path.split('/')[1]}`;
  for (const link of document.querySelectorAll('nav a')) {
    const target = link.getAttribute('href');
    if (target === (HOME_OF[root] ?? root)) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

function problem(error) {
  const box = h(
    'div',
    { class: 'problem', role: 'alert' },
    h('h1', null, error.status === 404 ? 'Not found' : 'This did not work'),
    h('p', null, withCode(error.message)),
  );
  if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
    const field = h('input', {
      type: 'password',
      autocomplete: 'off',
      'aria-label': 'Token',
      value: token(),
    });
    box.append(
      h(
        'form',
        {
          onsubmit: (event) => {
            event.preventDefault();
            setToken(field.value);
            show();
          },
        },
        h('label', null, 'Token ', field),
        ' ',
        h('button', { type: 'submit' }, 'Use for this tab'),
      ),
    );
  }
  return box;
}

// What the reader was doing survives a redraw: focus, open folds, scroll.
function redraw(node) {
  const open = new Set(
    [...main.querySelectorAll('details[open] > summary')].map((one) => one.textContent),
  );
  const focused = main.contains(document.activeElement) ? document.activeElement.id : '';
  replace(main, node);
  for (const summary of main.querySelectorAll('details > summary')) {
    if (open.has(summary.textContent)) summary.parentElement.open = true;
  }
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

async function follow(view, args, turn, last) {
  let known = last;
  while (turn === current && view.every) {
    await new Promise((resolve) => {
      setTimeout(resolve, view.every);
    });
    if (turn !== current) return;
    if (document.hidden) continue;
    try {
      const data = await view.load(...args, controller.signal);
      if (turn !== current) return;
      const text = JSON.stringify(data);
      live.textContent = '';
      if (text === known || isTyping() || view.busy?.()) continue;
      known = text;
      redraw(view.draw(data, ...args));
    } catch (error) {
      if (error.name === 'AbortError') return;
      live.textContent = `Not live: ${error.message}`;
    }
  }
}

// The page of the address: until it is there, the one before it is marked as busy.
function put(node) {
  replace(main, node);
  main.setAttribute('aria-busy', 'false');
}

async function show() {
  const turn = (current += 1);
  main.setAttribute('aria-busy', 'true');
  controller?.abort();
  controller = new AbortController();
  const path = decodeURI(location.pathname);
  const query = new URLSearchParams(location.search);
  markNavigation(path);
  const entry = VIEWS.find(([pattern]) => pattern.test(path));
  if (!entry) {
    put(problem(new ApiError(404, 'there is no page at this address')));
    return;
  }
  const params = path.match(entry[0]).slice(1);
  const args = [params, query];
  try {
    const view = (await entry[1]()).default;
    document.title = `${view.title(params)} · Steady`;
    cli.textContent = view.cli ? `Command line: ${view.cli(params, query)}` : '';
    const data = await view.load(...args, controller.signal);
    if (turn !== current) return;
    if (view.pageTitle) document.title = `${view.pageTitle(data)} · Steady`;
    put(view.draw(data, ...args));
    performance.mark('steady-drawn');
    follow(view, args, turn, JSON.stringify(data));
  } catch (error) {
    if (error.name !== 'AbortError' && turn === current) put(problem(error));
  }
}

function isOurs(link, event) {
  return (
    link &&
    link.origin === location.origin &&
    !link.target &&
    !event.defaultPrevented &&
    event.button === 0 &&
    !event.metaKey &&
    !event.ctrlKey &&
    !event.shiftKey &&
    !event.altKey &&
    !/\.(json|md|svg|txt)$/.test(link.pathname) &&
    VIEWS.some(([pattern]) => pattern.test(decodeURI(link.pathname)))
  );
}

document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href]');
  if (!isOurs(link, event) || (link.hash && link.pathname === location.pathname)) return;
  event.preventDefault();
  go(link.pathname + link.search);
});
window.addEventListener('popstate', show);
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target.closest('input, textarea, select, [contenteditable]'))
    return;
  const field = main.querySelector('input[type=search]');
  if (!field) return;
  event.preventDefault();
  field.focus();
});

drawBy(show);
show();
