// Changes the address and has its page drawn. app.js, which draws, says how; views only ask, so that
// no view imports what imports it.
let draw = () => Promise.resolve();

export function drawBy(how) {
  draw = how;
}

// Draws the page of the present address again.
export function show() {
  return draw();
}

// Changes the address and draws it; `keep` replaces the entry in the history (typing in a filter).
export function go(url, keep = false) {
  history[keep ? 'replaceState' : 'pushState'](null, '', url);
  const done = show();
  if (!keep) {
    window.scrollTo(0, 0);
    document.getElementById('main').focus({ preventScroll: true });
  }
  return done;
}
