// Does llama.cpp read the models that `steady-engine synth` writes? The prebuilt one inside npm's
// node-llama-cpp loads each geometry and continues a prompt; its first choice is compared with ours.
//   node llama_cpp_loads.mjs STEADY_ENGINE FOLDER       (FOLDER takes the package and the models)
// As a test: ctest --test-dir build/release -C peers -L peers
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [engine, folder] = process.argv.slice(2);
if (!folder) {
  console.error('usage: node llama_cpp_loads.mjs STEADY_ENGINE FOLDER');
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
if (!existsSync(`${folder}/node_modules/node-llama-cpp`)) {
  const wanted = ['install', '--no-audit', '--no-fund', '--prefix', folder, 'node-llama-cpp@3.22.1'];
  execFileSync('npm', wanted, { stdio: 'inherit' });
}
const installed = createRequire(`${folder}/`).resolve('node-llama-cpp');
const { getLlama } = await import(pathToFileURL(installed));
const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error' });

const prompt = [1, 5, 9, 13, 17, 21, 25, 29];
const wanted = 6;

async function continued(file) {
  const model = await llama.loadModel({ modelPath: file, gpuLayers: 0 });
  const context = await model.createContext({ contextSize: 256, threads: 2 });
  const tokens = [];
  const options = { temperature: 0, yieldEogToken: true };
  for await (const token of context.getSequence().evaluate(prompt, options)) {
    tokens.push(Number(token));
    if (tokens.length === wanted) break;
  }
  await model.dispose();
  return tokens;
}

function ours(file) {
  const words = ['logits', file, '--tokens', prompt.join(','), '--json'];
  const { logits } = JSON.parse(execFileSync(engine, words, { maxBuffer: 1 << 26 }));
  return logits.indexOf(Math.max(...logits));
}

let failed = 0;
for (const geometry of ['glm-4.7-flash', 'deepseek-v2-lite', 'youtu-llm-2b']) {
  const file = `${folder}/${geometry}.gguf`;
  execFileSync(engine, ['synth', '--arch', geometry, '--size', 'small', '--blocks', '3', '--out', file]);
  const tokens = await continued(file);
  const agrees = tokens[0] === ours(file);
  console.log(`${geometry}: llama.cpp continues with ${tokens.join(' ')}; first choice ${agrees ? 'ours too' : `unlike ours, ${ours(file)}`}`);
  if (tokens.length !== wanted || !agrees) failed += 1;
}
process.exit(failed === 0 ? 0 : 1);
