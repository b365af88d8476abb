// The interactive chart of a series: uPlot with the page's colours, levels with their band, changes
// of level as marks. The state of the chart is in the address of the page.
import { h } from '../dom.js';
import { percent } from '../format.js';
import { colour, place } from './uplot.js';

function drawBands(u, { data, noise, mode, scaled }) {
  if (mode === 'prev') return;
  const { ctx } = u;
  ctx.save();
  ctx.globalAlpha = 0.13;
  ctx.fillStyle = colour('--link');
  const lines = [];
  for (let begin = 0; begin < data.length;) {
    let end = begin;
    while (end < data.length && data[end].level === data[begin].level) end += 1;
    const { level } = data[begin];
    if (level !== null) {
      const x1 = u.valToPos(begin - 0.5, 'x', true);
      const x2 = u.valToPos(end - 0.5, 'x', true);
      const top = u.valToPos(scaled(level * Math.exp(2 * noise), begin), 'y', true);
      const bottom = u.valToPos(scaled(level * Math.exp(-2 * noise), begin), 'y', true);
      ctx.fillRect(x1, top, x2 - x1, bottom - top);
      lines.push([x1, x2, u.valToPos(scaled(level, begin), 'y', true)]);
    }
    begin = end;
  }
  ctx.globalAlpha = 1;
  ctx.strokeStyle = colour('--ink');
  ctx.lineWidth = 1.5 * devicePixelRatio;
  for (const [x1, x2, y] of lines) {
    ctx.beginPath();
    ctx.moveTo(x1, y);
    ctx.lineTo(x2, y);
    ctx.stroke();
  }
  ctx.restore();
}

function drawChanges(u, marks) {
  const { ctx } = u;
  const { top, height, left, width } = u.bbox;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `600 ${12 * ratio}px system-ui, sans-serif`;
  let row = 0;
  for (const mark of marks) {
    const x = u.valToPos(mark.index - 0.5, 'x', true);
    if (x < left || x > left + width) continue;
    const name = mark.shift < 0 ? '--worse' : '--better';
    ctx.strokeStyle = colour(name);
    ctx.fillStyle = colour(name);
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    ctx.lineWidth = 1.5 * ratio;
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x, top + height);
    ctx.stroke();
    const text = `${mark.shift < 0 ? '▼' : '▲'} ${percent(mark.shift, 1)}`;
    const late = x > left + width - 90 * ratio;
    const y = top + (13 + 15 * (row % 3)) * ratio;
    row += 1;
    ctx.textAlign = late ? 'right' : 'left';
    ctx.fillText(text, x + (late ? -5 : 5) * ratio, y);
  }
  ctx.restore();
}

function drawChosen(u, at, values) {
  if (at === null || values[at] === null || values[at] === undefined) return;
  const { ctx } = u;
  ctx.save();
  ctx.strokeStyle = colour('--ink');
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.beginPath();
  ctx.arc(
    u.valToPos(at, 'x', true),
    u.valToPos(values[at], 'y', true),
    6 * devicePixelRatio,
    0,
    2 * Math.PI,
  );
  ctx.stroke();
  ctx.restore();
}

const RAW = { label: 'raw', scale: 'raw', width: 1 };

function options(box, input) {
  const { data, marks, notes, mode, raw, at, values, onZoom, onChoose, onHover } = input;
  const axis = {
    stroke: () => colour('--soft'),
    grid: { stroke: () => colour('--line'), width: 1 },
  };
  const unit = mode === 'abs' ? (v) => `${v.toFixed(v < 10 ? 2 : 1)}×` : (v) => percent(v, 1);
  return {
    width: box.clientWidth,
    height: 340,
    legend: { show: false },
    padding: [12, 12, 0, 0],
    scales: {
      x: { time: false, range: (u, low, high) => [low - 0.5, high + 0.5] },
      raw: { auto: true },
    },
    axes: [
      {
        ...axis,
        values: (u, ticks) =>
          ticks.map((i) => (Number.isInteger(i) && data[i] ? data[i].commit.slice(0, 7) : '')),
        space: 90,
      },
      { ...axis, values: (u, ticks) => ticks.map(unit), size: 68 },
      raw
        ? {
            ...axis,
            scale: 'raw',
            side: 1,
            grid: { show: false },
            values: (u, ticks) => ticks.map((v) => `${(v / 1e6).toFixed(2)} ms`),
            size: 72,
          }
        : null,
    ].filter(Boolean),
    series: [
      {},
      {
        label: 'value',
        paths: () => null,
        points: {
          show: true,
          size: data.length > 300 ? 3 : 6,
          fill: () => colour('--link'),
          stroke: () => colour('--link'),
        },
      },
      { label: 'level', paths: () => null, points: { show: false } },
      raw ? { ...RAW, stroke: () => colour('--soft'), points: { show: false } } : null,
    ].filter(Boolean),
    cursor: { drag: { x: true, y: false, setScale: false }, points: { show: true } },
    hooks: {
      drawClear: [(u) => drawBands(u, input)],
      draw: [(u) => drawChanges(u, marks), (u) => drawNotes(u, notes), (u) => drawChosen(u, at, values)],
      setSelect: [
        (u) => {
          if (u.select.width < 8) return;
          const low = Math.max(0, Math.ceil(u.posToVal(u.select.left, 'x')));
          const high = Math.min(
            data.length - 1,
            Math.floor(u.posToVal(u.select.left + u.select.width, 'x')),
          );
          if (high - low >= 2) onZoom(low, high);
        },
      ],
      setCursor: [(u) => onHover(u.cursor.idx ?? null)],
      ready: [
        (u) => {
          u.over.addEventListener('click', () => {
            if (u.select.width < 8 && Number.isInteger(u.cursor.idx)) onChoose(u.cursor.idx);
          });
        },
      ],
    },
  };
}

// Notes stand at their commit on the lower edge, with their number; marks are lines over the whole
// height, since somebody says that a level begins there.
function drawNotes(u, notes) {
  const { ctx } = u;
  const { top, height, left, width } = u.bbox;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `700 ${11 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = 'center';
  const taken = [];
  for (const note of notes) {
    const mark = note.kind === 'mark';
    const x = u.valToPos(note.index - (mark ? 0.5 : 0), 'x', true);
    if (x < left || x > left + width) continue;
    const level = taken.filter((other) => Math.abs(other - x) < 18 * ratio).length;
    taken.push(x);
    const bottom = top + height;
    const low = bottom - 18 * ratio * level; // numbers at one commit stand one above the other
    ctx.strokeStyle = colour('--amber');
    ctx.fillStyle = colour('--amber');
    ctx.lineWidth = 1.5 * ratio;
    if (mark) {
      ctx.setLineDash([2 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x, bottom);
      ctx.stroke();
    }
    ctx.beginPath();
    ctx.arc(x, low - 10 * ratio, 8 * ratio, 0, 2 * Math.PI);
    ctx.fill();
    ctx.fillStyle = colour('--ground');
    ctx.fillText(String(note.number), x, low - 6 * ratio);
  }
  ctx.restore();
}

// input: {data: points, values, levels, scaled(ratio, index) → shown number, marks: [{index, shift}],
// notes: [{index, kind, number}], noise, mode, raw, at, onZoom(low, high), onChoose(index),
// onHover(index|null)}
export function seriesChart(input) {
  const box = h('div', { class: 'chart' });
  return place(box, 340, (UPlot) => {
    const columns = [input.data.map((one, i) => i), input.values, input.levels];
    if (input.raw) columns.push(input.data.map((one) => one.champion_ns || null));
    return new UPlot(options(box, input), columns, box);
  });
}
