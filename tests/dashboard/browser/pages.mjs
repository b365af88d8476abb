// Addresses of the page, and how a case opens one.
// Every page that the navigation or a page leads to, by its address alone.
export const PAGES = ['/', '/q', '/j', '/s', '/alerts', '/kernels', '/hosts', '/w', '/aa', '/owners', '/submit'];

export async function api(context, path) {
  return (await fetch(context.address + path)).json();
}

export async function open(context, path) {
  await context.page.goto(context.address + path, { waitUntil: 'load' });
  await context.page.waitForFunction(() =>
    document.querySelector('main > div, main > .problem, main > article'),
  );
}

export async function accepted(context) {
  const list = await api(context, '/experiments.json?verdict=accept');
  return list.rows[0];
}
