// One effect with its interval on a line through zero: the picture of a row. Drawn as SVG nodes, so
// that it takes the page's colours in light and dark. The scale is said to screen readers as text.
import { svg } from '../dom.js';
import { direction, interval, percent } from '../format.js';

const W = 160;
const H = 22;
const PAD = 7;

// Half-width of the axis, as a fraction: nine tenths of the rows fit, the few far ones become arrows at
// the edge, so that one large effect does not flatten all others.
export function commonScale(rows) {
  const ends = rows
    .filter((row) => Number.isFinite(row.effect))
    .map((row) =>
      Math.max(Math.abs(row.effect), ...(row.interval ?? []).filter(Number.isFinite).map(Math.abs)),
    )
    .sort((x, y) => x - y);
  const most = ends.length ? ends[Math.floor(0.9 * (ends.length - 1))] : 0;
  return Math.max(0.01, Math.ceil(most * 110) / 100);
}

// data: {effect, interval, band?, predict?}; scale: half-width of the axis.
export function intervalBar(data, scale, label = '') {
  const x = (value) => W / 2 + (Math.max(-scale, Math.min(scale, value)) / scale) * (W / 2 - PAD);
  const way = direction(data.effect, data.interval);
  const range = (bounds, y, height, name) => {
    if (!bounds) return null;
    const low = x(bounds[0] ?? -scale);
    const high = x(bounds[1] ?? scale);
    return svg('rect', { x: low, y, width: Math.max(1.5, high - low), height, class: name });
  };
  const known = Number.isFinite(data.effect);
  const mark = () => {
    const at = x(data.effect);
    if (Math.abs(data.effect) <= scale)
      return svg('circle', { cx: at, cy: H / 2, r: 3.5, class: 'dot' });
    const tip = data.effect > 0 ? W : 0;
    const back = data.effect > 0 ? W - 7 : 7;
    return svg('path', { d: `M${tip} ${H / 2}L${back} ${H / 2 - 5}V${H / 2 + 5}Z`, class: 'dot' });
  };
  const text = known
    ? `${label} ${percent(data.effect)} ${interval(data.interval)}, axis from ${percent(-scale, 0)} to ${percent(scale, 0)}`
    : `${label} not measured`;
  return svg(
    'svg',
    { viewBox: `0 0 ${W} ${H}`, class: `bar ${way}`, role: 'img', 'aria-label': text.trim() },
    svg('line', { x1: PAD, x2: W - PAD, y1: H / 2, y2: H / 2, class: 'axis' }),
    range(data.predict, 1, H - 2, 'predict'),
    range(data.band, 5, H - 10, 'band'),
    svg('line', { x1: W / 2, x2: W / 2, y1: 2, y2: H - 2, class: 'zero' }),
    known && Math.abs(data.effect) <= scale ? range(data.interval, H / 2 - 2.5, 5, 'span') : null,
    known ? mark() : null,
  );
}
