// Several lines in one chart, each with its own points: a line never joins two of them. Colour, dash
// and a letter at the line's end tell them apart.
import { h, svg } from '../dom.js';
import { colour, place } from './uplot.js';

const HEIGHT = 360;
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const COLOURS = 6;

export const letter = (i) => String.fromCharCode(65 + i);
const colourName = (i) => `--series-${(i % COLOURS) + 1}`;
const dash = (i) => DASHES[Math.floor(i / COLOURS) % DASHES.length];

// The sample of a line that stands in the legend.
export function swatch(i) {
  const line = svg('line', { x1: 1, x2: 29, y1: 6, y2: 6, 'stroke-dasharray': dash(i).join(' ') });
  line.style.stroke = `var(${colourName(i)})`;
  return svg('svg', { class: 'swatch', viewBox: '0 0 30 12', 'aria-hidden': 'true' }, line);
}

function drawLetters(u, lines) {
  const { ctx } = u;
  const ratio = devicePixelRatio;
  const taken = [];
  ctx.save();
  ctx.font = `700 ${12 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  lines.forEach((line, i) => {
    let last = line.values.length - 1;
    while (last >= 0 && line.values[last] === null) last -= 1;
    if (last < 0) return;
    const x = u.valToPos(u.data[0][last], 'x', true);
    let y = u.valToPos(line.values[last], 'y', true);
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
    const beside = taken.filter((other) => Math.abs(other.x - x) < 16 * ratio);
    while (beside.some((other) => Math.abs(other.y - y) < 13 * ratio)) y += 13 * ratio;
    taken.push({ x, y });
    ctx.fillStyle = colour(colourName(i));
    ctx.fillText(letter(i), x + 6 * ratio, y + 4 * ratio);
  });
  ctx.restore();
}

// input: {x: numbers, time: x are seconds, labels(i) → text at a tick (without time),
// lines: [{values, joined}], unit(v) → text, onHover(i|null), onChoose(i)}
export function lineChart(input) {
  const box = h('div', { class: 'chart' });
  const { x, lines, unit } = input;
  const axis = {
    stroke: () => colour('--soft'),
    grid: { stroke: () => colour('--line'), width: 1 },
  };
  return place(box, HEIGHT, (UPlot) =>
    new UPlot(
      {
        width: box.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        padding: [12, 28, 0, 0],
        scales: input.time ? {} : { x: { time: false, range: (u, low, high) => [low - 0.5, high + 0.5] } },
        axes: [
          input.time
            ? { ...axis, space: 90 }
            : {
                ...axis,
                space: 90,
                values: (u, ticks) => ticks.map((i) => (Number.isInteger(i) ? input.labels(i) : '')),
              },
          { ...axis, size: 72, values: (u, ticks) => ticks.map(unit) },
        ],
        series: [
          {},
          ...lines.map((line, i) => ({
            stroke: () => colour(colourName(i)),
            width: line.joined === false ? 0 : 1.75,
            dash: dash(i),
            spanGaps: true,
            points: {
              show: x.length <= 300 || line.joined === false,
              size: 5,
              fill: () => colour(colourName(i)),
              stroke: () => colour(colourName(i)),
            },
          })),
        ],
        cursor: { drag: { x: false, y: false }, points: { show: true } },
        hooks: {
          draw: [(u) => drawLetters(u, lines)],
          setCursor: [(u) => input.onHover?.(u.cursor.idx ?? null)],
          ready: [
            (u) => {
              u.over.addEventListener('click', () => {
                if (Number.isInteger(u.cursor.idx)) input.onChoose?.(u.cursor.idx);
              });
            },
          ],
        },
      },
      [x, ...lines.map((line) => line.values)],
      box,
    ),
  );
}
