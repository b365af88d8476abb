// Speed of the prebuilt llama.cpp inside npm's node-llama-cpp, for the tables in engine/README.md:
// the first token after a prompt, then greedy tokens at steady state, as one line of JSON.
//   npm install node-llama-cpp@3.22.1        (in any folder; then there)
//   node <here>/llama_cpp.mjs FILE THREADS TOKENS [PROMPT] [fa]
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [file, threads, n, prompted = '16', flash] = process.argv.slice(2);
if (!n) {
  console.error('usage: node llama_cpp.mjs FILE THREADS TOKENS [PROMPT] [fa]');
  process.exit(2);
}
const installed = createRequire(`${process.cwd()}/`).resolve('node-llama-cpp');
const { getLlama } = await import(pathToFileURL(installed));
const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error' });
const model = await llama.loadModel({ modelPath: file, gpuLayers: 0 });
const context = await model.createContext({
  contextSize: 512,
  threads: { ideal: Number(threads), min: Number(threads) },
  flashAttention: flash === 'fa',
});
const prompt = Array.from({ length: Number(prompted) }, (_, i) => 100 + 7 * i);
const times = [];
let last = performance.now();
for await (const _ of context.getSequence().evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
  const now = performance.now();
  times.push(now - last);
  last = now;
  if (times.length > Number(n)) break;
}
const steady = times.slice(1).sort((x, y) => x - y);
const at = (q) => steady[Math.min(steady.length - 1, Math.floor(q * steady.length))];
console.log(
  JSON.stringify({
    prompt_tokens_per_s: (1000 * prompt.length) / times[0],
    tokens_per_s: 1000 / at(0.5),
    token_ms_median: at(0.5),
    token_ms_p10: at(0.1),
    token_ms_p90: at(0.9),
    n: steady.length,
  }),
);
process.exit(0);
