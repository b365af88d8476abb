// Ours, npm's llama.cpp and llama-bench binaries in turns on the same files: decode, prompts and
// depth, in rounds, with paired ratios. Every measurement is appended to RESULTS as it ends; the same
// command goes on where an earlier one stopped. The page has a section per class of CPU.
//   node peers.mjs measure BIN_FOLDER RESULTS.jsonl FILE… [--threads 2,1] [--rounds 6] [--tokens 32]
//     [--prompts 64,512] [--depth 2048] [--minutes 40]
//     [--npm FOLDER]  where node-llama-cpp is installed   [--npm-prompts 64]  its prompts
//     [--bench 'NAME=BINARY FLAGS']…  llama-bench, with flags of its own
//     [--engine FLAGS]  more flags for ours, one string
//   node peers.mjs page BIN_FOLDER RESULTS.jsonl PAGE.md
// Threads after the first get decode and the first prompt alone.
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const here = path.dirname(new URL(import.meta.url).pathname);

function stop(message) {
  console.error(`peers: ${message}\nThe head of ${path.relative('.', new URL(import.meta.url).pathname)} shows the command.`);
  process.exit(2);
}

const run = (program, args, cwd) =>
  execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 28, timeout: 900_000 });

// ---- one measurement: { decode, prompts: { 64: … }, depth, … } in tok/s

function ours(bin, o, cell) {
  const args = ['bench', 'model', cell.file, '-n', o.tokens, '--threads', cell.threads, '--json'];
  if (cell.prompts.length) args.push('--prompt', cell.prompts.join(','));
  if (cell.depth) args.push('--depth', `0,${cell.depth}`);
  const got = JSON.parse(run(path.join(bin, 'steady-engine'), [...args, ...o.engine.split(' ').filter(Boolean)]));
  return {
    decode: got.tokens_per_s,
    prompts: Object.fromEntries((got.prompts ?? []).map((p) => [p.tokens, p.tokens_per_s])),
    depth: got.depths?.[0]?.tokens_per_s,
    read_gb_per_s: got.read_gb_per_s, read_probes: got.read_probes, weight_gb_per_s: got.weight_gb_per_s,
    launches_per_token: got.launches_per_token, barrier_ns_per_token: got.barrier_ns_per_token,
    model: got.model_name, cpu: got.cpu, cpu_class: got.cpu_class, version: run(path.join(bin, 'steady-engine'), ['--version']).trim(),
  };
}

function npm(o, cell) {
  const prompts = {};
  let decode = 0;
  for (const prompt of cell.prompts.filter((p) => o['npm-prompts'].split(',').includes(p))) {
    const got = JSON.parse(run('node', [path.join(here, 'llama_cpp.mjs'), cell.file, cell.threads, o.tokens, prompt], o.npm));
    prompts[prompt] = got.prompt_tokens_per_s;
    decode ||= got.tokens_per_s;
  }
  return { decode, prompts };
}

// Decode behind so many tokens: llama.cpp calls it -d, ik_llama.cpp -gp.
function deep(once, depth) {
  try {
    return { ...once('-p', '0', '-n', '16', '-d', depth)[0], n_prompt: depth };
  } catch {
    return once('-p', '0', '-n', '0', '-gp', `${depth},16`).find((r) => r.n_prompt === depth);
  }
}

function bench(command, o, cell) {
  const [binary, ...flags] = command.split(' ').filter(Boolean);
  const once = (...what) =>
    JSON.parse(run(binary, ['-m', cell.file, '-t', cell.threads, '-r', '1', '-o', 'json', ...what, ...flags]));
  const rows = once('-n', o.tokens, '-p', cell.prompts.join(',') || '0');
  if (cell.depth) rows.push(deep(once, cell.depth));
  const rate = (prompt, gen) => rows.find((r) => r.n_prompt === Number(prompt) && (gen ? r.n_gen > 0 : r.n_gen === 0))?.avg_ts;
  return {
    decode: rate(0, true),
    prompts: Object.fromEntries(cell.prompts.map((p) => [p, rate(p, false)])),
    depth: cell.depth ? rate(cell.depth, true) : undefined,
    version: rows[0]?.build_commit,
  };
}

// ---- measure

const read = (file) =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line)) : [];

function measure(o, [bin, results, ...files]) {
  if (!files.length) stop('measure needs BIN_FOLDER RESULTS.jsonl FILE…');
  for (const file of files) if (!existsSync(file)) stop(`no model at ${file}; make one: steady-engine synth --arch NAME --out FILE`);
  if (!(Number(o.rounds) >= 5)) stop(`--rounds ${o.rounds}: at least 5; an interval of 95 % needs 6`);
  const engines = [['steady-engine', (cell) => ours(bin, o, cell)]];
  for (const each of o.bench) {
    const at = each.indexOf('=');
    if (at < 1) stop(`--bench '${each}': write NAME=BINARY, or 'NAME=BINARY FLAGS'`);
    engines.push([each.slice(0, at).replaceAll(' ', '-'), (cell) => bench(each.slice(at + 1), o, cell)]);
  }
  if (o.npm) engines.push(['llama.cpp', (cell) => npm(o, cell)]);
  const prompts = o.prompts.split(',').filter((p) => Number(p) > 0);
  const cells = o.threads.split(',').flatMap((threads, i) =>
    files.map((file) => ({ file: path.resolve(file), threads, prompts: i ? prompts.slice(0, 1) : prompts, depth: i ? 0 : Number(o.depth) })));
  const done = new Set(read(results).map((r) => [r.file, r.threads, r.round, r.engine].join('|')));
  const end = Date.now() + Number(o.minutes) * 60_000;
  for (const cell of cells) {
    for (let round = 0; round < Number(o.rounds); ++round) {
      for (let i = 0; i < engines.length; ++i) {
        const [name, once] = engines[(i + round) % engines.length]; // each engine goes first in turn
        const file = path.basename(cell.file);
        if (done.has([file, cell.threads, round, name].join('|'))) continue;
        if (Date.now() > end) {
          console.error(`peers: ${o.minutes} minutes are over; the same command goes on from here`);
          return;
        }
        const begun = Date.now();
        let got = {};
        try {
          got = once(cell);
        } catch (error) {
          got = { failed: String(error.message).split('\n')[0].slice(0, 200) };
        }
        const line = { at: new Date(begun).toISOString(), seconds: (Date.now() - begun) / 1000, file, threads: cell.threads, round, engine: name, depth_at: cell.depth, ...got };
        appendFileSync(results, `${JSON.stringify(line)}\n`);
        console.error(`${file} ${cell.threads} threads, round ${round + 1}: ${name} ${got.failed ?? `decode ${got.decode?.toFixed(2)}`
          + Object.entries(got.prompts).map(([p, v]) => `, prompt ${p} ${v?.toFixed(1)}`).join('') + (got.depth ? `, depth ${got.depth.toFixed(2)}` : '')}`);
      }
    }
  }
}

// ---- page

function ratios(bin, lines) {
  if (!lines.length) return [];
  const out = execFileSync(path.join(bin, 'peer_ratios'), { input: lines.join('\n'), encoding: 'utf8' });
  return out.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}
const percent = (ratio) => `${ratio >= 1 ? '+' : '−'}${Math.abs(100 * (ratio - 1)).toFixed(1)} %`;
function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.floor(sorted.length / 2)]) / 2;
}

// Rows of one cell: what → [[ours, its]…] for each peer, in rounds that both have.
function pairs(rows, peer, rate) {
  const of = (engine) => new Map(rows.filter((r) => r.engine === engine && rate(r) > 0).map((r) => [r.round, rate(r)]));
  const [mine, its] = [of('steady-engine'), of(peer)];
  return [...mine].filter(([round]) => its.has(round)).map(([round, value]) => `${value}/${its.get(round)}`);
}

function section(bin, all) {
  const mine = all.filter((r) => r.engine === 'steady-engine' && r.decode > 0);
  if (!mine.length) stop('the results have no measurement of steady-engine');
  const peers = [...new Set(all.map((r) => r.engine))].filter((name) => name !== 'steady-engine');
  const { cpu, cpu_class: cpuClass, version } = mine.at(-1);
  const cells = [...new Map(all.map((r) => [`${r.file}|${r.threads}`, r])).values()];
  const compared = [];
  const own = [];
  const failures = new Map();
  for (const { file, threads } of cells) {
    const rows = all.filter((r) => r.file === file && r.threads === threads);
    const us = rows.filter((r) => r.engine === 'steady-engine' && r.decode > 0);
    if (!us.length) continue;
    const name = `${us[0].model} (${file.replace('.gguf', '')})`;
    for (const r of rows.filter((r) => r.failed)) failures.set(`${r.engine} on ${name}`, r.failed.replaceAll(/\S*\/([^\s/]+)/g, '$1'));
    const rates = [['decode', (r) => r.decode]];
    for (const prompt of Object.keys(us[0].prompts)) rates.push([`prompt of ${prompt}`, (r) => r.prompts?.[prompt]]);
    if (us[0].depth) rates.push([`decode at ${us[0].depth_at}`, (r) => r.depth]);
    for (const [what, rate] of rates) {
      const lines = peers.map((peer) => [peer, pairs(rows, peer, rate)]).filter(([, p]) => p.length).map(([peer, p]) => `${peer} ${p.join(' ')}`);
      const found = new Map(ratios(bin, lines).map((r) => [r.name, r]));
      const value = median(us.map(rate).filter((v) => v > 0));
      const columns = peers.map((peer) => {
        const r = found.get(peer);
        return r ? `${r.median.toFixed(2)} | ${r.ratio.toFixed(2)}${r.lower === null ? '' : ` [${r.lower.toFixed(2)}, ${r.upper.toFixed(2)}]`}` : '– | –';
      });
      compared.push(`| ${name} | ${threads} | ${what} | ${value.toFixed(2)} | ${columns.join(' | ')} | ${Math.max(0, ...[...found.values()].map((r) => r.rounds))} |`);
    }
    const cost = ratios(bin, ['steady-engine', ...peers]
      .map((e) => [e, rows.filter((r) => r.engine === e && r.depth > 0).map((r) => `${r.depth}/${r.decode}`)])
      .filter(([, p]) => p.length).map(([e, p]) => `${e} ${p.join(' ')}`));
    const shares = us.map((r) => (100 * r.weight_gb_per_s) / r.read_gb_per_s);
    const probes = us.flatMap((r) => r.read_probes.map((p) => p.gb_per_s));
    own.push(`| ${name} | ${threads} | ${median(shares).toFixed(0)} % | ${Math.min(...shares).toFixed(0)} to ${Math.max(...shares).toFixed(0)} % | `
      + `${Math.min(...probes).toFixed(1)} to ${Math.max(...probes).toFixed(1)} | ${median(us.map((r) => r.launches_per_token)).toFixed(0)} | `
      + `${(median(us.map((r) => r.barrier_ns_per_token)) / 1e6).toFixed(2)} | `
      + `${cost.map((c) => `${c.name} ${percent(c.ratio)}${c.lower === null ? '' : ` [${percent(c.lower)}, ${percent(c.upper)}]`}`).join(', ') || '–'} |`);
  }
  const dates = [...new Set(mine.map((r) => r.at.slice(0, 10)))].join(', ');
  const versions = peers.map((peer) => [peer, all.find((r) => r.engine === peer && r.version)?.version]).filter(([, v]) => v).map(([p, v]) => `${p} at ${v}`);
  return { cpuClass, text: `## ${cpuClass}, ${dates}

${cpu}. ${version}${versions.length ? `; ${versions.join(', ')}` : ''}. All engines in turns on the same file, one process for each
measurement and round; tok/s, medians; *ours ÷ it* is the paired ratio (Hodges–Lehmann) with its 95 % interval, which exists
from six rounds on.

| model | threads | what | steady-engine | ${peers.map((p) => `${p} | ours ÷ it`).join(' | ')} | rounds |
| --- | --- | --- | ---: | ${peers.map(() => '---: | ---').join(' | ')} | ---: |
${compared.join('\n')}

The read limit is the best of the loops in \`kernels/registry/read_loops.cpp\`, measured in the same process before, between
and after; the share is that of the weights' bytes read per second while decoding.

| model | threads | share of read limit | lowest to highest round | read limit, GB/s | launches per token | at barriers, ms | cost of depth |
| --- | --- | ---: | --- | --- | ---: | ---: | --- |
${own.join('\n')}
${[...failures].map(([who, why]) => `\n${who} failed: ${why}`).join('')}` };
}

function page(_, [bin, results, target]) {
  if (!target) stop('page needs BIN_FOLDER RESULTS.jsonl PAGE.md');
  const { cpuClass, text } = section(bin, read(results));
  const [begin, end] = [`<!-- peers ${cpuClass} -->`, `<!-- end of peers ${cpuClass} -->`];
  const before = existsSync(target) ? readFileSync(target, 'utf8') : `# Beside other engines\n\nGenerated by \`tests/engine/tool/peers.mjs\`: a section for each class of CPU that was measured. How it was measured, and which\nrounds were left out, stands in [journal/benchmarks](../journal/benchmarks/) under its date: read it before you cite a ratio.\n`;
  const whole = `${begin}\n${text.trim()}\n${end}\n`;
  const [from, to] = [before.indexOf(begin), before.indexOf(`${end}\n`)];
  writeFileSync(target, from < 0 ? `${before}\n${whole}` : before.slice(0, from) + whole + before.slice(to + end.length + 1));
}

const text = { type: 'string' };
const verbs = { measure, page };
let parsed;
try {
  parsed = parseArgs({
    allowPositionals: true,
    options: {
      threads: { ...text, default: '2' }, rounds: { ...text, default: '6' }, tokens: { ...text, default: '32' },
      prompts: { ...text, default: '64,512' }, depth: { ...text, default: '2048' }, minutes: { ...text, default: '40' },
      npm: text, 'npm-prompts': { ...text, default: '64' }, engine: { ...text, default: '' }, bench: { ...text, multiple: true, default: [] },
    },
  });
} catch (error) {
  stop(error.message);
}
const [verb, ...rest] = parsed.positionals;
if (!verbs[verb]) stop(`${verb ? `unknown verb '${verb}'` : 'a verb is needed'}; verbs: measure, page`);
verbs[verb](parsed.values, rest);
