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

const typing = new Set(); // fields whose text the page does not answer yet

// While this is true nothing else may be drawn: a field would lose letters.
export function isTyping() {
  return typing.size > 0;
}

// For `oninput` of a field with an id: calls ask(text), which changes the address, a moment after the
// last letter. The page is then drawn anew with its fields; what was typed while it loaded is kept.
export function typed(ask) {
  let timer = 0;
  return ({ target }) => {
    clearTimeout(timer);
    typing.add(target);
    const mine = setTimeout(async () => {
      const { value } = target;
      if (document.getElementById(target.id)) await ask(value);
      const again = document.getElementById(target.id);
      if (again === target) {
        if (timer === mine) typing.delete(target);
        return;
      }
      clearTimeout(timer);
      typing.delete(target);
      if (!again) return;
      const more = target.value !== value;
      if (more) again.value = target.value;
      again.focus();
      again.setSelectionRange?.(again.value.length, again.value.length);
      if (more) again.dispatchEvent(new Event('input'));
    }, 250);
    timer = mine;
  };
}
