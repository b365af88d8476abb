// What only programs of others have: the cells of a matrix, every metric that was measured, and
// what the two programs are, beginning with what differs.
import { h, withCode } from '../dom.js';
import { words } from '../format.js';
import { effect, folded, section, table } from '../parts.js';
import { commonScale, intervalBar } from '../charts/interval_bar.js';

// One line of a command as a shell would need it.
function shellLine(words_) {
  return words_
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}

// What an arm runs for a gate: the gate's own command or the arm's, with the cell filled in.
function command(spec, name, gate) {
  const arm = spec.arms?.[name] ?? {};
  const cell = { ...gate.at };
  for (const [axis, values] of Object.entries(spec.matrix ?? {}))
    if (values.length === 1) cell[axis] = values[0];
  const own = gate.run?.length ? gate.run : (arm.run ?? []);
  return shellLine(
    [...own, ...(arm.args ?? [])].map((word) =>
      Object.entries(cell).reduce(
        (text, [axis, value]) => text.replaceAll(`{${axis}}`, String(value)),
        String(word),
      ),
    ),
  );
}

export function commands(data) {
  const spec = data.spec;
  if (spec.subject?.program !== 'outside') return null;
  const arms = Object.keys(spec.arms ?? {}).sort();
  const rows = [];
  for (const gate of spec.gates ?? []) {
    const lines = arms.map((name) => command(spec, name, gate));
    const row = [gate.id, ...(new Set(lines).size === 1 ? [lines[0]] : lines)];
    rows.push(row);
  }
  const same = rows.every((row) => row.length === 2);
  const build = (spec.subject.build ?? []).map(shellLine);
  return section(
    'Commands',
    table(
      [
        { head: 'Gate', cell: (row) => row[0] },
        ...(same ? [`${arms.join(', ')} run`] : arms.map((name) => `${name} runs`)).map(
          (head, i) => ({
            head,
            cell: (row) => h('code', null, row[Math.min(i + 1, row.length - 1)]),
          }),
        ),
      ],
      rows,
      { label: 'What each arm runs, gate by gate' },
    ),
    build.length
      ? h(
          'p',
          { class: 'small' },
          'Each revision is built by ',
          build.map((line, i) => [i ? ', then ' : '', h('code', null, line)]),
          '.',
        )
      : null,
  );
}

export function matrixCells(data) {
  const axes = Object.keys(data.spec.matrix ?? {});
  const found = data.analysis?.gates ?? [];
  const cells = (data.spec.gates ?? [])
    .filter((gate) => gate.at && gate.level !== 'correctness')
    .map((gate) => ({ at: gate.at, ...found.find((one) => one.id === gate.id) }))
    .filter((cell) => cell.id);
  if (!axes.length || !cells.length) return null;
  const scale = commonScale(cells);
  return section(
    'Cells',
    h('p', { class: 'dim small' }, 'Each cell has pairs and an interval of its own, 95 %.'),
    table(
      [
        ...axes.map((axis) => ({
          head: axis,
          cell: (cell) => h('code', null, String(cell.at[axis] ?? '–')),
        })),
        { head: 'Metric', cell: (cell) => h('code', null, cell.metric) },
        { head: 'Role', cell: (cell) => cell.role },
        { head: 'Change', number: true, cell: (cell) => effect(cell) },
        { head: '', cell: (cell) => intervalBar(cell, scale, cell.id) },
        { head: 'Pairs', number: true, cell: (cell) => cell.pairs || '–' },
        { head: 'Outcome', cell: (cell) => cell.outcome },
      ],
      cells,
      { label: 'Every cell of the matrix' },
    ),
  );
}

export function measured(data) {
  const rows = data.measured ?? [];
  if (!rows.length) return null;
  return section(
    'Everything that was measured',
    table(
      [
        { head: 'Metric', cell: (row) => h('code', null, row.metric) },
        { head: 'A', number: true, cell: (row) => row.a },
        { head: 'B', number: true, cell: (row) => row.b },
        { head: 'Change, 95 % interval', number: true, cell: (row) => effect(row) },
        { head: 'Pairs', number: true, cell: (row) => row.pairs },
      ],
      rows,
      { label: 'Every metric of the counted pairs' },
    ),
    h(
      'p',
      { class: 'dim small' },
      'Medians of the counted pairs; positive is better. Only the gates decide.',
    ),
  );
}

function factsTable(arms, rows, label) {
  return table(
    [
      { head: 'What', cell: (row) => words(row[0]) },
      ...arms.map(([name], i) => ({
        head: name,
        cell: (row) => h('code', null, row[i + 1].slice(0, 80)),
      })),
    ],
    rows,
    { label },
  );
}

// Two builds that are one file cannot differ: that deserves to be said first.
function binaries(arms) {
  const [a, b] = arms.map(([, arm]) => arm.facts.program_sha256);
  if (!a || !b) return null;
  if (a !== b) return h('p', null, 'The programs of A and B are different files.');
  return h('p', null, 'A and B run the same program file, byte for byte.');
}

// What each arm is: commands, commits, hashes, how the builds ended.
export function programs(data) {
  if (!data.program) return null;
  const arms = Object.entries(data.program.arms ?? {});
  const names = [...new Set(arms.flatMap(([, arm]) => Object.keys(arm.facts)))].sort();
  const rows = names.map((fact) => [fact, ...arms.map(([, arm]) => arm.facts[fact] ?? '–')]);
  const different = rows.filter((row) => new Set(row.slice(1)).size > 1);
  const equal = rows.filter((row) => !different.includes(row));
  return section(
    'The programs',
    data.program.detail ? h('p', { class: 'note' }, withCode(data.program.detail)) : null,
    binaries(arms),
    different.length ? factsTable(arms, different, 'In what the programs of the arms differ') : null,
    equal.length
      ? folded(
          `${equal.length} facts are the same in ${arms.length > 1 ? 'all arms' : 'the arm'}`,
          factsTable(arms, equal, 'What the programs of the arms have in common'),
        )
      : null,
    arms
      .filter(([, arm]) => arm.log)
      .map(([name, arm]) => folded(`How the build of ${name} ended`, h('pre', null, arm.log))),
  );
}
