// How long the pages about histories take over N series with M commits each, one client, no answer
// shared. A measurement, not a test.
//   node tests/dashboard/tool/histories.mjs BIN_DIR [SERIES] [COMMITS] [REQUESTS]
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [bin, series = 200, commits = 1000, requests = 30] = process.argv.slice(2);
const state = mkdtempSync(join(tmpdir(), 'steady-histories-'));
chmodSync(state, 0o755); // as root the database runs under a user of its own
const env = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: state,
  LANG: 'C.UTF-8',
  STEADY_STATE_DIR: state,
  STEADY_ROOT: state,
};
const steady = (words, input) =>
  execFileSync(join(bin, 'steady'), words, { env, input, encoding: 'utf8', maxBuffer: 1 << 26 });

// Commits are those of one branch, so every series measured each; every fiftieth has a note.
const FILL = `
set search_path = steady;
insert into host (name) select 'bench-' || n from generate_series(1, 4) n;
insert into series (name, watch, metric, model, claim, host_id, noise, repository, branch)
  select 'parse-' || n, 'parser:main:parse-' || n, 'wall_seconds', 'parser, branch main',
    'A commit is no slower', 1 + n % 4, 0.004, 'parser', 'main' from generate_series(1, ${series}) n;
insert into series_point (series_id, commit_sha, subject, committed_at, position, ratio, low, high,
    pairs, champion_ns, reference_ns, level)
  select s, md5('c' || c) || substr(md5('d' || c), 1, 8), 'Change ' || c,
    timestamptz '2026-01-01' + c * interval '1 hour', c, 1 + 0.004 * sin(s * 7.1 + c * 3.3), 0.99,
    1.01, 10, 1e6, 1e6, 1 from generate_series(1, ${series}) s, generate_series(1, ${commits}) c;
insert into series_note (series_id, commit_sha, kind, body, author)
  select series_id, commit_sha, 'note', 'words', 'kim' from series_point where position % 50 = 0;
analyze;
`;

const share = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];

async function measure(address, path) {
  const times = [];
  for (let i = 0; i < requests; i += 1) {
    const target = path(i);
    const begin = performance.now();
    const reply = await fetch(address + target);
    await reply.text();
    if (!reply.ok) throw new Error(`${target}: ${reply.status}`);
    times.push(performance.now() - begin);
    await new Promise((resolve) => {
      setTimeout(resolve, 550); // answers are shared for half a second
    });
  }
  return times.sort((one, other) => one - other);
}

let server;
try {
  steady(['db', 'migrate']);
  steady(['db', 'psql', '--', '--quiet', '--set', 'ON_ERROR_STOP=1'], FILL);
  server = spawn(join(bin, 'steady'), ['serve', '--port', '0'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const address = await new Promise((resolve) => {
    server.stdout.on('data', (text) => resolve(String(text).trim().replace(/\/$/, '')));
  });
  const { points } = await (await fetch(`${address}/s/parse-1.json`)).json();
  const commit = (i) => points[i].commit.slice(0, 12);
  const name = (i) => `parse-${1 + (i % series)}`;
  const pages = {
    [`/s, ${series} series`]: () => '/s.json',
    [`/s/<name>, ${commits} points`]: (i) => `/s/${name(i)}.json`,
    '/together, 4 series': (i) => `/together.json?s=${[0, 1, 2, 3].map((k) => name(i + k)).join(',')}`,
    [`/revisions/A...B, ${series} rows`]: (i) => `/revisions/${commit(i)}...${commit(points.length - 1 - i)}.json`,
  };
  console.log('| page | p50 | p95 | longest |\n| --- | --- | --- | --- |');
  for (const [label, path] of Object.entries(pages)) {
    const times = await measure(address, path);
    const cells = [share(times, 0.5), share(times, 0.95), times.at(-1)].map((ms) => `${ms.toFixed(1)} ms`);
    console.log(`| ${label} | ${cells.join(' | ')} |`);
  }
} finally {
  if (server) {
    const ended = new Promise((resolve) => {
      server.on('exit', resolve);
    });
    server.kill('SIGTERM');
    await ended;
  }
  steady(['db', 'stop']);
  rmSync(state, { recursive: true, force: true });
}
