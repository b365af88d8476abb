// How long pages take under load. A bench, not a test: it prints, it judges nothing.
// Usage: node load.mjs http://127.0.0.1:PORT [clients] [seconds] [only names that hold this]
// Every request asks for another experiment or another page of the list, so that answers are not
// shared; "shared" asks everybody for the same. The clients are wrk's (Debian: wrk), on one thread: a
// client of Node's takes as much of the CPUs as the page does, and waits for itself.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [address, clients = '20', seconds = '5', only = ''] = process.argv.slice(2);
const kAddresses = 2000;
const kNumber = 'n=NUMBER'; // requests.lua writes another number each time
const script = join(dirname(fileURLToPath(import.meta.url)), 'requests.lua');
const folder = mkdtempSync(join(tmpdir(), 'steady-load-'));
let ids = [];
let turn = 0;

function measure(name, path) {
  if (!name.includes(only)) return;
  const paths = join(folder, 'paths');
  writeFileSync(paths, Array.from({ length: kAddresses }, path).join('\n') + '\n');
  const told = execFileSync(
    'wrk',
    ['-t1', `-c${clients}`, `-d${seconds}s`, '-s', script, address, '--', paths],
    { encoding: 'utf8' },
  );
  console.log(`${name.padEnd(22)} ${told.trim().split('\n').pop()}`);
}

const once = { headers: { Connection: 'close' } };
const json = async (path) => (await fetch(address + path, once)).json();
let rows = [];
for (let before = 0, page = 0; page < 20 && (page === 0 || before > 0); page += 1) {
  const list = await json(`/experiments.json?limit=200&verdict=accept&before=${before}`);
  rows = rows.concat(list.rows);
  before = list.next;
}
ids = rows.map((row) => row.id);
const slugs = rows.map((row) => `${row.decided_at.slice(0, 10)}-${row.id}`);
const series = (await json('/s.json')).rows.map((row) => row.name);
const newest = rows[0].cursor;
const id = () => ids[(turn += 1) % ids.length];
const page = () => newest - (((turn += 1) * 7919) % newest);
const words = ['softmax', 'experts fused', 'rms', 'hoist', 'router', 'swiglu', 'q6', 'polynomial'];

console.log(`${clients} clients, ${seconds} s each, load ${loadavg()[0].toFixed(1)} before`);
measure('health', () => '/healthz');
measure('shell', () => '/');
measure('overview, shared', () => '/index.json');
measure('overview, own page', () => `/index.json?before=${page()}&${kNumber}`);
measure('list, by verdict', () => `/experiments.json?verdict=accept&before=${page()}&${kNumber}`);
measure('list, by owner', () => `/experiments.json?owner=kim&before=${page()}&${kNumber}`);
measure(
  'list, by words',
  () =>
    `/experiments.json?q=${encodeURIComponent(words[(turn += 1) % words.length])}&before=${page()}&${kNumber}`,
);
measure('experiment', () => `/x/${id()}.json?${kNumber}`);
measure('pairs', () => `/x/${id()}/pairs.json?${kNumber}`);
measure('figure', () => `/x/${id()}/figure/pairs.svg?${kNumber}`);
measure('events', () => `/x/${id()}/events.json?${kNumber}`);
measure(
  'journal search',
  () => `/j.json?limit=50&q=${encodeURIComponent(words[(turn += 1) % words.length])}&${kNumber}`,
);
measure('queue', () => `/q.json?${kNumber}`);
measure('hosts', () => `/hosts.json?${kNumber}`);
measure('kernels', () => `/kernels.json?${kNumber}`);
measure('owners', () => `/owners.json?${kNumber}`);
measure('compare', () => `/compare/${id()}...${id()}.json?${kNumber}`);
measure('entry', () => `/j/${slugs[(turn += 1) % slugs.length]}?${kNumber}`);
measure('series list', () => `/s.json?${kNumber}`);
measure('series', () => `/s/${series[(turn += 1) % series.length]}.json?${kNumber}`);
measure('audit', () => `/aa.json?${kNumber}`);
measure('workers', () => `/w.json?${kNumber}`);
const metrics = await (await fetch(`${address}/metrics`, once)).text();
const resident = Number(metrics.match(/process_resident_memory_bytes (\d+)/)?.[1] ?? 0);
console.log(`server's memory ${(resident / 1e6).toFixed(0)} MB`);
rmSync(folder, { recursive: true });
