// The last values of a series as one small line, for a row of a table. The words beside it carry the
// meaning; the line is hidden from screen readers.
import { svg } from '../dom.js';

const W = 160;
const H = 30;
const PAD = 3;

export function spark(values, level) {
  if (values.length < 2) return null;
  const low = Math.min(...values, level ?? values[0]);
  const high = Math.max(...values, level ?? values[0]);
  const x = (i) => PAD + (i / (values.length - 1)) * (W - 2 * PAD);
  const y = (value) => H - PAD - ((value - low) / Math.max(1e-9, high - low)) * (H - 2 * PAD);
  const path = values.map(
    (value, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`,
  );
  return svg(
    'svg',
    { viewBox: `0 0 ${W} ${H}`, class: 'spark', 'aria-hidden': 'true' },
    level ? svg('line', { x1: 0, x2: W, y1: y(level), y2: y(level), class: 'level' }) : null,
    svg('path', { d: path.join('') }),
    svg('circle', { cx: x(values.length - 1), cy: y(values.at(-1)), r: 2.5 }),
  );
}
