// What only some experiments have: the settings that a sweep tried before this confirmation, the
// layout control beside the candidate, the clocks of a GPU.
import { h } from '../dom.js';
import { percent } from '../format.js';
import { effect, experimentLink, section, table } from '../parts.js';

function outcome(sweep, point) {
  const axes = Object.keys(point.values);
  const chosen = sweep.chosen && axes.every((axis) => sweep.chosen[axis] === point.values[axis]);
  if (chosen) return h('strong', null, 'chosen');
  if (!point.id) return 'equals A';
  if (point.verdict === 'inconclusive') return 'measured';
  return [point.verdict, point.reason].filter(Boolean).join(' / ');
}

export function settingsTried(data) {
  const sweep = data.sweep;
  if (!sweep || !sweep.points.length) return null;
  return section(
    'Settings tried',
    h(
      'p',
      null,
      `A sweep tried ${sweep.points.length} settings of B in ${sweep.metric} with a few pairs each. `,
      'The best was measured again: the verdict rests on those new pairs alone.',
    ),
    table(
      [
        ...Object.keys(sweep.points[0].values).map((axis) => ({
          head: axis,
          cell: (point) => h('code', null, point.values[axis]),
        })),
        { head: 'Change against A', number: true, cell: (point) => effect(point) },
        { head: 'Pairs', number: true, cell: (point) => point.pairs || '–' },
        { head: 'Outcome', cell: (point) => outcome(sweep, point) },
        // A name breaks at its hyphens: in a narrow column each row would be as high as a screen.
        { head: 'Record', class: 'nowrap', cell: (point) => (point.id ? experimentLink(point.id) : '–') },
      ],
      sweep.points,
      { label: 'Every setting of the sweep' },
    ),
  );
}

export function layoutControl(data) {
  const control = data.layout;
  if (!control) return null;
  const rows = [
    { what: 'B0 against A', ...control },
    {
      what: 'B against A',
      effect: data.analysis.effect,
      interval: data.analysis.interval,
      pairs: data.analysis.pairs,
    },
  ];
  return section(
    'Layout control',
    h(
      'p',
      null,
      'B0 does the same work as A in another layout: where code and data lie changes speed by ',
      'itself. It decides nothing.',
    ),
    table(
      [
        { head: 'Compared', cell: (row) => row.what },
        { head: `Change in ${control.metric}`, number: true, cell: (row) => effect(row) },
        { head: 'Pairs', number: true, cell: (row) => row.pairs || '–' },
      ],
      rows,
      { label: 'The layout control and the candidate, each against A' },
    ),
  );
}

const range = (mhz) =>
  mhz.lowest === mhz.highest
    ? mhz.median.toFixed(0)
    : `${mhz.lowest.toFixed(0)} to ${mhz.highest.toFixed(0)}, median ${mhz.median.toFixed(0)}`;

export function gpuClocks(data) {
  const clocks = data.clocks;
  if (!clocks) return null;
  const rows = Object.entries(clocks.arms).map(([letter, arm]) => ({ letter, arm }));
  const cell = (show) => (row) => (row.arm ? show(row.arm) : '–');
  return section(
    'Clocks of the GPU',
    clocks.caution ? h('p', { class: 'note', role: 'note' }, `Caution: ${clocks.caution}.`) : null,
    table(
      [
        { head: 'Arm', cell: (row) => (row.arm ? row.letter : `${row.letter}, on the CPU`) },
        { head: 'SM clock, MHz', number: true, cell: cell((arm) => range(arm.sm_mhz)) },
        { head: 'Memory clock, MHz', number: true, cell: cell((arm) => range(arm.memory_mhz)) },
        { head: 'Chunks with lowered clocks', number: true, cell: cell((arm) => `${(100 * arm.lowered).toFixed(0)} %`) },
        { head: 'Reasons', class: 'wrap', cell: cell((arm) => arm.reasons || 'none') },
      ],
      rows,
      { label: 'Clocks of the GPU in each arm' },
    ),
    h(
      'p',
      { class: 'dim small' },
      clocks.change === null ? '' : `B against A: ${percent(clocks.change, 2)}. `,
      `As the driver tells them after each chunk of measured tokens, in ${clocks.pairs} pairs.`,
    ),
  );
}
