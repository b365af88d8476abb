// How long pages take under load. A bench, not a test: it prints, it judges nothing.
// Usage: node load.mjs http://127.0.0.1:PORT [clients] [seconds] [only names that hold this]
// Every request asks for another experiment or another page of the list, so that answers are not
// shared; "shared" asks everybody for the same.
import http from 'node:http';

const [address, clients = '20', seconds = '5', only = ''] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true, maxSockets: Number(clients) });
let ids = [];
let turn = 0;

function ask(path) {
  return new Promise((resolve) => {
    const begin = process.hrtime.bigint();
    http
      .get(address + path, { agent }, (response) => {
        let bytes = 0;
        response.on('data', (chunk) => {
          bytes += chunk.length;
        });
        response.on('end', () =>
          resolve({
            ms: Number(process.hrtime.bigint() - begin) / 1e6,
            status: response.statusCode,
            bytes,
          }),
        );
      })
      .on('error', () => resolve({ ms: Number.NaN, status: 0, bytes: 0 }));
  });
}

async function measure(name, path) {
  if (!name.includes(only)) return;
  const times = [];
  let errors = 0;
  const end = Date.now() + Number(seconds) * 1000;
  await Promise.all(
    Array.from({ length: Number(clients) }, async () => {
      while (Date.now() < end) {
        const one = await ask(path());
        if (one.status === 200) times.push(one.ms);
        else errors += 1;
      }
    }),
  );
  times.sort((x, y) => x - y);
  const at = (share) =>
    times[Math.min(times.length - 1, Math.floor(share * times.length))]?.toFixed(1);
  console.log(
    `${name.padEnd(22)} ${String(times.length).padStart(7)} answers  p50 ${at(0.5)} ms  p95 ${at(0.95)} ms  p99 ${at(0.99)} ms  errors ${errors}`,
  );
}

const json = async (path) => (await fetch(address + path)).json();
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

console.log(`${clients} clients, ${seconds} s each`);
await measure('health', () => '/healthz');
await measure('shell', () => '/');
await measure('overview, shared', () => '/index.json');
await measure('overview, own page', () => `/index.json?before=${page()}`);
await measure('list, by verdict', () => `/experiments.json?verdict=accept&before=${page()}`);
await measure('list, by owner', () => `/experiments.json?owner=kim&before=${page()}`);
await measure(
  'list, by words',
  () =>
    `/experiments.json?q=${encodeURIComponent(words[(turn += 1) % words.length])}&before=${page()}`,
);
await measure('experiment', () => `/x/${id()}.json?n=${turn}`);
await measure('pairs', () => `/x/${id()}/pairs.json?n=${turn}`);
await measure('figure', () => `/x/${id()}/figure/pairs.svg?n=${turn}`);
await measure('events', () => `/x/${id()}/events.json`);
await measure(
  'journal search',
  () => `/j.json?limit=50&q=${encodeURIComponent(words[turn % words.length])}&n=${(turn += 1)}`,
);
await measure('queue', () => `/q.json?n=${(turn += 1)}`);
await measure('hosts', () => `/hosts.json?n=${(turn += 1)}`);
await measure('kernels', () => `/kernels.json?n=${(turn += 1)}`);
await measure('owners', () => `/owners.json?n=${(turn += 1)}`);
await measure('compare', () => `/compare/${id()}...${id()}.json`);
await measure('entry', () => `/j/${slugs[(turn += 1) % slugs.length]}?n=${turn}`);
await measure('series list', () => `/s.json?n=${(turn += 1)}`);
await measure('series', () => `/s/${series[(turn += 1) % series.length]}.json?n=${turn}`);
await measure('audit', () => `/aa.json?n=${(turn += 1)}`);
await measure('workers', () => `/w.json?n=${(turn += 1)}`);
const metrics = await (await fetch(`${address}/metrics`)).text();
const resident = Number(metrics.match(/process_resident_memory_bytes (\d+)/)?.[1] ?? 0);
console.log(`server's memory ${(resident / 1e6).toFixed(0)} MB`);
process.exit(0);
