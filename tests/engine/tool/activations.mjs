// What 8-bit activations cost in exactness, beside 16 bits and beside llama.cpp: distributions of the
// next token against those of exact arithmetic, on the tiny reference models, as a Markdown table.
//   node activations.mjs BIN_FOLDER MODELS_FOLDER [--prompts 24] [--npm FOLDER]
// Exact: steady-engine --kernels reference, within 2e-6 of double precision
// (tests/engine/model_logits_test.cpp). llama.cpp rounds activations to 8 bits per 32 as well.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values: o, positionals: [bin, folder] } = parseArgs({
  allowPositionals: true,
  options: { prompts: { type: 'string', default: '24' }, npm: { type: 'string' } },
});
if (!folder || !existsSync(path.join(folder, 'tiny-glm.gguf'))) {
  console.error('usage: node activations.mjs BIN_FOLDER MODELS_FOLDER [--prompts N] [--npm FOLDER]; MODELS_FOLDER holds tiny-glm.gguf, as tests/data/models');
  process.exit(2);
}

const forms = [
  ['8 bits', ['--activations', 'q8']],
  ['16 bits', ['--activations', 'q16']],
  ['8 bits, cache of half floats', ['--activations', 'q8', '--cache', 'f16']],
  ['16 bits, cache of half floats', ['--activations', 'q16', '--cache', 'f16']],
];
const length = 12;

function logits(file, tokens, flags) {
  const words = ['logits', file, '--tokens', tokens.join(','), '--json', '--defaults', 'none', ...flags];
  return JSON.parse(execFileSync(path.join(bin, 'steady-engine'), words, { encoding: 'utf8', maxBuffer: 1 << 26 })).logits;
}
function softmax(values) {
  const most = Math.max(...values);
  const exps = values.map((v) => Math.exp(v - most));
  const sum = exps.reduce((a, b) => a + b, 0);
  return exps.map((e) => e / sum);
}
const kl = (p, q) => p.reduce((sum, pi, i) => sum + (pi > 0 ? pi * Math.log(pi / Math.max(q[i], 1e-30)) : 0), 0);
const top = (p) => p.indexOf(Math.max(...p));
const relative = (a, b) => Math.sqrt(a.reduce((s, v, i) => s + (v - b[i]) ** 2, 0) / b.reduce((s, v) => s + v * v, 0));

async function llamaCpp(file) {
  const installed = createRequire(`${path.resolve(o.npm)}/`).resolve('node-llama-cpp');
  const { getLlama } = await import(pathToFileURL(installed));
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error' });
  const model = await llama.loadModel({ modelPath: file, gpuLayers: 0 });
  const context = await model.createContext({ contextSize: 256, threads: 2 });
  const sequence = context.getSequence();
  return async (tokens, n) => {
    await sequence.clearHistory();
    const asked = sequence.evaluateWithMetadata(tokens, { probabilities: true }, { temperature: 1, topK: 0, topP: 1, minP: 0, yieldEogToken: true });
    const { value } = await asked.next();
    await asked.return();
    const p = new Array(n).fill(0);
    for (const [token, probability] of value.probabilities) p[Number(token)] = probability;
    return p;
  };
}

let seed = 1;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;

console.log('| model | engine | median KL to exact | mean KL | same first choice | median relative L2 of logits |\n| --- | --- | ---: | ---: | ---: | ---: |');
for (const name of ['tiny-glm', 'tiny-dsv2', 'tiny-youtu']) {
  const file = path.resolve(folder, `${name}.gguf`);
  const found = new Map();
  const add = (engine, p, exactP, l2) => {
    const one = found.get(engine) ?? { kl: [], same: 0, n: 0, l2: [] };
    one.kl.push(kl(exactP, p));
    one.same += top(p) === top(exactP) ? 1 : 0;
    one.n += 1;
    if (l2 !== undefined) one.l2.push(l2);
    found.set(engine, one);
  };
  const theirs = o.npm ? await llamaCpp(file) : null;
  let vocabulary = 0;
  for (let i = 0; i < Number(o.prompts); ++i) {
    vocabulary ||= logits(file, [1], ['--kernels', 'reference']).length;
    const tokens = Array.from({ length }, () => Math.floor(random() * vocabulary));
    const exact = logits(file, tokens, ['--kernels', 'reference']);
    const exactP = softmax(exact);
    for (const [form, flags] of forms) {
      const mine = logits(file, tokens, flags);
      add(form, softmax(mine), exactP, relative(mine, exact));
    }
    if (theirs) add('llama.cpp', await theirs(tokens, exact.length), exactP);
  }
  for (const [engine, one] of found) {
    const middle = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
    const l2 = middle(one.l2);
    const mean = one.kl.reduce((a, b) => a + b, 0) / one.n;
    console.log(`| ${name} | ${engine} | ${middle(one.kl).toExponential(1)} | ${mean.toExponential(1)} | ${one.same} of ${one.n} | ${l2 === undefined ? '' : l2.toExponential(1)} |`);
  }
}
process.exit(0);
