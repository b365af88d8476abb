// The page of peers.mjs from results whose ratios are known: paired by round, intervals from six
// rounds on, a class's section replaced and others kept, failures named.
//   node peers_page_test.mjs BIN_FOLDER FOLDER
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const [bin, folder] = process.argv.slice(2);
const here = path.dirname(new URL(import.meta.url).pathname);
mkdirSync(folder, { recursive: true });
const results = path.join(folder, 'peers.jsonl');
const page = path.join(folder, 'PEERS.md');
const tool = (...words) => execFileSync('node', [path.join(here, 'peers.mjs'), ...words], { encoding: 'utf8' });

function line(engine, round, decode, more = {}) {
  return JSON.stringify({ at: '2026-11-25T02:00:00Z', file: 'model.gguf', threads: '2', round, engine, depth_at: 2048,
    decode, prompts: { 64: 10 * decode }, depth: 0.9 * decode, ...more });
}
const own = (cpuClass) => ({ model: 'Model', cpu: 'A CPU', cpu_class: cpuClass, version: 'steady-engine 1', read_gb_per_s: 20,
  weight_gb_per_s: 17, read_probes: [{ when: 'before', gb_per_s: 19 }, { when: 'after', gb_per_s: 20 }], launches_per_token: 423, barrier_ns_per_token: 1.5e6 });
function write(cpuClass, rounds, factor = 2) {
  const lines = [];
  for (let i = 0; i < rounds; ++i) {
    lines.push(line('steady-engine', i, 12 + i, own(cpuClass)), line('peer', i, (12 + i) / factor));
  }
  lines.push(JSON.stringify({ at: '2026-11-25T02:00:00Z', file: 'model.gguf', threads: '2', round: 0, engine: 'broken', failed: 'it stopped' }));
  writeFileSync(results, `${lines.join('\n')}\n`);
}

writeFileSync(page, '# Beside other engines\n\nkept\n');
write('class-a', 6);
tool('page', bin, results, page);
let text = readFileSync(page, 'utf8');
assert.match(text, /kept/);
assert.match(text, /## class-a, 2026-11-25/);
assert.match(text, /\| Model \([^|]*\) \| 2 \| decode \| 14\.50 \| 7\.25 \| 2\.00 \[2\.00, 2\.00\] \| – \| – \| 6 \|/);
assert.match(text, /\| Model \([^|]*\) \| 2 \| prompt of 64 \|/);
assert.match(text, /\| 85 % \| 85 to 85 % \| 19\.0 to 20\.0 \| 423 \| 1\.50 \| steady-engine −10\.0 % \[−10\.0 %, −10\.0 %\]/);
assert.match(text, /broken on Model \([^)]*\) failed: it stopped/);

write('class-b', 5);
tool('page', bin, results, page);
write('class-a', 6, 3);
tool('page', bin, results, page);
text = readFileSync(page, 'utf8');
assert.match(text, /\| decode \| 14\.00 \| 7\.00 \| 2\.00 \| – \| – \| 5 \|/); // no interval of 95 % from five rounds
assert.match(text, /3\.00 \[3\.00, 3\.00\]/);
assert.doesNotMatch(text, /2\.00 \[2\.00, 2\.00\]/);
assert.equal(text.match(/^## class-/gm).length, 2);

for (const [words, expected] of [[[], /a verb is needed/], [['messure'], /unknown verb 'messure'/], [['measure', bin], /needs BIN_FOLDER/],
  [['measure', bin, results, '/nowhere.gguf'], /no model at \/nowhere\.gguf/], [['page', bin], /needs BIN_FOLDER/]]) {
  const ended = spawnSync('node', [path.join(here, 'peers.mjs'), ...words], { encoding: 'utf8' });
  assert.equal(ended.status, 2);
  assert.match(ended.stderr, expected);
}
