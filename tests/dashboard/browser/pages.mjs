// Addresses of the page, and how a case opens one.
// Every page that the navigation or a page leads to, by its address alone.
export const PAGES = ['/', '/q', '/j', '/s', '/alerts', '/kernels', '/hosts', '/w', '/aa', '/owners', '/submit'];

export async function api(context, path) {
  return (await fetch(context.address + path)).json();
}

export async function open(context, path) {
  await context.page.goto(context.address + path, { waitUntil: 'load' });
  await drawn(context);
}

// Waits until the page of the present address is drawn: while it loads, the one before it stays. An entry
// of the journal comes drawn from the server.
export async function drawn(context) {
  await context.page.waitForSelector('main[aria-busy=false], main.entry');
}

// Waits for an address, and for its page.
export async function arrived(context, address) {
  await context.page.waitForURL(address);
  await drawn(context);
}

export async function accepted(context) {
  const list = await api(context, '/experiments.json?verdict=accept');
  return list.rows[0];
}
