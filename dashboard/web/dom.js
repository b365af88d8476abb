// Building the page without ever parsing text as HTML: a string given here becomes a text node, so
// no name, claim or crash text can turn into markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value') element.value = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

// h('a', {href: '/q', class: 'x'}, 'text', node, [more])
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// Text with commands between backquotes, as messages and entries write them: 'see `steady queue`'.
export function withCode(text) {
  return String(text)
    .split(/`([^`]+)`/)
    .map((part, i) => (i % 2 ? h('code', null, part) : part));
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function replace(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}
