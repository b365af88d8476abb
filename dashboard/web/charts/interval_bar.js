// One effect with its interval on a line through zero: the picture of a row. Drawn as SVG nodes, so
// that it takes the page's colours in light and dark. The scale is said to screen readers as text.
import { svg } from '../dom.js';
import { direction, interval, percent } from '../format.js';

const W = 160;
const H = 22;

// Half-width of the axis that shows all of `rows` ({effect, interval}), as a fraction.
export function commonScale(rows) {
  let most = 0.01;
  for (const row of rows) {
    for (const value of [row.effect, ...(row.interval ?? [])]) {
      if (Number.isFinite(value)) most = Math.max(most, Math.min(Math.abs(value), 0.25));
    }
  }
  return most * 1.1;
}

// data: {effect, interval, band?, predict?}; scale: half-width of the axis.
export function intervalBar(data, scale, label = '') {
  const x = (value) => W / 2 + (Math.max(-scale, Math.min(scale, value)) / scale) * (W / 2 - 4);
  const way = direction(data.effect, data.interval);
  const range = (bounds, y, height, name) => {
    if (!bounds) return null;
    const low = x(bounds[0] ?? -scale);
    const high = x(bounds[1] ?? scale);
    return svg('rect', { x: low, y, width: Math.max(1, high - low), height, class: name });
  };
  const known = Number.isFinite(data.effect);
  const text = known
    ? `${label} ${percent(data.effect)} ${interval(data.interval)}, axis ${percent(scale, 1)}`
    : `${label} not measured`;
  return svg('svg', { viewBox: `0 0 ${W} ${H}`, class: `bar ${way}`, role: 'img', 'aria-label': text.trim() },
    range(data.predict, 1, H - 2, 'predict'),
    range(data.band, 5, H - 10, 'band'),
    svg('line', { x1: W / 2, x2: W / 2, y1: 1, y2: H - 1, class: 'zero' }),
    known ? range(data.interval, H / 2 - 2, 4, 'span') : null,
    known ? svg('circle', { cx: x(data.effect), cy: H / 2, r: 4, class: 'dot' }) : null);
}
