// Tables that `steady export` writes, read by programs of others: Apache Arrow's own library and a
// reader of Parquet. All three forms must hold the same values. Argument: the steady program.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

let arrow, parquet;
try {
  arrow = await import('apache-arrow');
  parquet = await import('hyparquet');
} catch (error) {
  console.log(`SKIPPED: ${error.message} (npm ci in tests/dashboard)`);
  process.exit(77);
}

const source = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const state = mkdtempSync(join(tmpdir(), 'steady-exchange-'));
chmodSync(state, 0o755); // the database has a user of its own
const [program] = process.argv.slice(2);
const env = { ...process.env, STEADY_STATE_DIR: state, STEADY_ROOT: state };
const run = (...words) => execFileSync(program, words, { env, encoding: 'utf8' });

// Missing values and whole numbers as both libraries give them.
const plain = (key, value) =>
  typeof value === 'bigint' ? Number(value) : value === undefined ? null : value;

// RFC 4180, without the apostrophe before what a spreadsheet would take for a formula.
function parseCsv(text) {
  const rows = [[]];
  for (const [, quoted, bare, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r\n|$)/g)) {
    if (end === '' && !quoted && !bare) break;
    rows.at(-1).push((quoted?.replaceAll('""', '"') ?? bare).replace(/^'(?=[=+\-@])/, ''));
    if (end === '\r\n') rows.push([]);
  }
  const [head, ...body] = rows.filter((row) => row.length);
  return body.map((row) => Object.fromEntries(head.map((name, i) => [name, row[i]])));
}

async function check(table, ids) {
  const path = (format) => join(state, `${table}.${format}`);
  for (const format of ['csv', 'arrow', 'parquet']) {
    run('export', ...ids, '--table', table, '--format', format, '--out', path(format));
  }
  const csv = parseCsv(readFileSync(path('csv'), 'utf8'));
  const fromArrow = arrow
    .tableFromIPC(readFileSync(path('arrow')))
    .toArray()
    .map((row) => JSON.parse(JSON.stringify(row.toJSON(), plain)));
  const bytes = new Uint8Array(readFileSync(path('parquet'))).buffer;
  const fromParquet = JSON.parse(
    JSON.stringify(await parquet.parquetReadObjects({ file: bytes }), plain),
  );
  if (csv.length === 0) throw new Error(`${table}: nothing was exported`);
  for (const [name, rows] of [
    ['arrow', fromArrow],
    ['parquet', fromParquet],
  ]) {
    if (rows.length !== csv.length) throw new Error(`${table}: ${name} has ${rows.length} rows`);
    rows.forEach((row, i) => {
      for (const [key, text] of Object.entries(csv[i])) {
        const same = typeof row[key] === 'number' ? Number(text) === row[key] : text === (row[key] ?? '');
        if (!same) throw new Error(`${table} row ${i} ${key}: csv ${text}, ${name} ${row[key]}`);
      }
    });
  }
  console.log(`${table}: ${csv.length} rows, the same in CSV, Arrow and Parquet`);
}

try {
  const record = join(source, 'experiments/records/quickstart-16106d8c.steady.json');
  run('import', record, '--no-journal');
  const history = join(source, 'tests/data/history/bencher/perf.json');
  const { series } = JSON.parse(run('import', '--adapter', 'bencher', history, '--json'));
  await check('samples', ['quickstart']);
  await check('verdicts', ['quickstart']);
  await check('series', series.map((one) => one.series));
} finally {
  run('db', 'stop');
  rmSync(state, { recursive: true, force: true });
}
