// A flame graph, the root on top: width is CPU time, a frame stands below its caller. Two arms share
// one scale of nanoseconds per run, so that the faster one is the narrower one. A click on a frame
// shows it alone; the table beside the graph carries the same for readers of text.
import { h, replace, svg } from '../dom.js';

const WIDTH = 1000;
const ROW = 18;
const SMALLEST = 0.7; // in the picture's units: less is no visible bar
const LETTER = 6.9;

// Frames in preorder with their depth → nodes with children.
export function tree(frames) {
  const path = [];
  for (const frame of frames) {
    const node = { ...frame, children: [] };
    path.length = frame.depth;
    path.at(-1)?.children.push(node);
    path.push(node);
  }
  return path[0] ?? null;
}

// The difference shows frames of both arms: one is as wide as its larger self time and its children.
function weigh(node, width) {
  const below = node.children.reduce((sum, child) => sum + weigh(child, width), 0);
  const inside = (key) => node.children.reduce((sum, child) => sum + child[key], 0);
  const own = Math.max(0, node.a_ns - inside('a_ns'), node.b_ns - inside('b_ns'));
  node.width = width === 'both' ? own + below : node[width];
  return node.width;
}

function place(node, x, y, scale, out) {
  const width = node.width * scale;
  if (width < SMALLEST) return;
  out.push({ node, x, y, width });
  let at = x;
  for (const child of node.children) {
    place(child, at, y + 1, scale, out);
    at += child.width * scale;
  }
}

// A steady colour per name, so that the eye finds a function in both arms.
function tint(name) {
  let hash = 7;
  for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) % 9973;
  return `tint-${hash % 6}`;
}

const CHANGES = { 1: 'more', 0: 'same', '-1': 'less' };
const SIGNS = { 1: '+ ', 0: '', '-1': '− ' };

function bar({ node, x, y, width }, kind, describe, zoom) {
  const sign = kind === 'both' ? (SIGNS[node.change] ?? '') : '';
  const room = Math.floor((width - 6) / LETTER);
  const text = sign + node.name;
  const look = kind === 'both' ? CHANGES[node.change] : tint(node.name);
  return svg(
    'g',
    { class: `frame ${look}`, 'data-name': node.name, onclick: () => zoom(node) },
    svg('title', null, describe(node)),
    svg('rect', { x, y: y * ROW, width: Math.max(0.5, width - 0.5), height: ROW - 1 }),
    room >= 3
      ? svg(
          'text',
          { x: x + 3, y: y * ROW + 13 },
          text.length > room ? `${text.slice(0, room - 1)}…` : text,
        )
      : null,
  );
}

// width: 'a_ns', 'b_ns' or 'both'. most: the time that fills the picture.
export function flame(root, { width, most, label, describe }) {
  weigh(root, width);
  const box = h('div', { class: 'flame' });
  const draw = (top) => {
    const bars = [];
    const full = top === root ? Math.max(most, top.width) : top.width;
    if (full > 0) place(top, 0, 0, WIDTH / full, bars);
    const rows = Math.max(1, ...bars.map((one) => one.y + 1));
    replace(
      box,
      h(
        'p',
        { class: 'small dim' },
        label,
        top === root
          ? null
          : [
              ' · only ',
              h('code', null, top.name),
              ' ',
              h('button', { type: 'button', class: 'quiet', onclick: () => draw(root) }, 'Show all'),
            ],
      ),
      svg(
        'svg',
        {
          viewBox: `0 0 ${WIDTH} ${rows * ROW}`,
          class: 'flame-graph',
          role: 'img',
          'aria-label': label,
        },
        bars.map((one) => bar(one, width, describe, draw)),
      ),
    );
  };
  draw(root);
  return box;
}
