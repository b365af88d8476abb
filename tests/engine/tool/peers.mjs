// Ours, npm's llama.cpp and llama-bench binaries in turns on one file: decode and prompt speed with
// paired ratios, as a Markdown table on standard output.
//   node peers.mjs BIN_FOLDER FILE [--threads 2] [--rounds 6] [--tokens 32] [--prompt 64]
//     [--npm FOLDER]  where node-llama-cpp is installed  [--bench NAME=BINARY]…  llama-bench's flags
//     [--engine FLAGS]  more flags for ours, one string
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const text = { type: 'string' };
const { values: o, positionals: [bin, file] } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { ...text, default: '2' }, rounds: { ...text, default: '6' },
    tokens: { ...text, default: '32' }, prompt: { ...text, default: '64' },
    npm: text, engine: { ...text, default: '' }, bench: { ...text, multiple: true, default: [] },
  },
});
if (!file || !(Number(o.rounds) >= 6)) {
  console.error('usage: node peers.mjs BIN_FOLDER FILE [options]; at least 6 rounds: an interval of 95 % needs them');
  process.exit(2);
}
const run = (program, args, cwd) =>
  execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 26 });
const model = path.resolve(file);
const here = path.dirname(new URL(import.meta.url).pathname);

function ours() {
  const got = JSON.parse(run(path.join(bin, 'steady-engine'), ['bench', 'model', model, '-n', o.tokens,
    '--prompt', o.prompt, '--threads', o.threads, '--json', ...o.engine.split(' ').filter(Boolean)]));
  return { decode: got.tokens_per_s, prompt: got.prompt_tokens_per_s };
}
function npm() {
  const got = JSON.parse(run('node', [path.join(here, 'llama_cpp.mjs'), model, o.threads, o.tokens, o.prompt], o.npm));
  return { decode: got.tokens_per_s, prompt: got.prompt_tokens_per_s };
}
function bench(binary) {
  const got = JSON.parse(run(binary, ['-m', model, '-t', o.threads, '-p', o.prompt, '-n', o.tokens, '-r', '1', '-o', 'json']));
  return { decode: got.find((r) => r.n_gen > 0).avg_ts, prompt: got.find((r) => r.n_prompt > 0).avg_ts };
}

const engines = [['steady-engine', ours]];
if (o.npm) engines.push(['llama.cpp', npm]);
for (const each of o.bench) {
  const [name, binary] = each.split('=');
  engines.push([name, () => bench(binary)]);
}
const rates = engines.map(() => ({ decode: [], prompt: [] }));
for (let round = 0; round < Number(o.rounds); ++round) {
  for (let i = 0; i < engines.length; ++i) {
    const at = (i + round) % engines.length; // each engine goes first in turn
    const got = engines[at][1]();
    for (const what of ['decode', 'prompt']) {
      if (!(got[what] > 0)) throw new Error(`${engines[at][0]}: no ${what} rate in its output`);
      rates[at][what].push(got[what]);
    }
    console.error(`round ${round + 1}: ${engines[at][0]} decode ${got.decode.toFixed(2)} prompt ${got.prompt.toFixed(1)}`);
  }
}
const info = readFileSync('/proc/cpuinfo', 'utf8');
const cpu = (key) => info.match(new RegExp(`^${key}\\s*: (.*)$`, 'm'))?.[1];
console.log(`${new Date().toISOString().slice(0, 10)}, ${cpu('model name')}, family ${cpu('cpu family')} model ${cpu('model')}, `
  + `${o.threads} threads, ${path.basename(file)}, ${o.rounds} rounds in turns, tok/s\n`);
for (const what of ['decode', 'prompt']) {
  console.log(`| ${what === 'decode' ? `decode of ${o.tokens}` : `prompt of ${o.prompt}`} | median | lowest to highest | ours ÷ it | 95 % interval |\n| --- | --- | --- | --- | --- |`);
  const lines = engines.map(([name], i) => `${name} ${rates[i][what].join(' ')}`).join('\n');
  console.log(execFileSync(path.join(bin, 'peer_ratios'), { input: lines, encoding: 'utf8' }));
}
