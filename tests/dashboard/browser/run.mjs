// Runs the page in a real browser against servers of its own: one with made-up experiments, and one
// with a few real records of programs of others (cases_outside.mjs). Leaves screenshots in
// tests/dashboard/screenshots. Arguments: the program seeded_server, and, to run only some cases, a part
// of their names. Exit code 77 and a line "SKIPPED: …": something that cannot be had
// here is missing.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { withSeededServer } from '../seeded.mjs';
import { findChromium, root } from './setup.mjs';

const chromium = findChromium(); // installs what the cases import
const { cases, run } = await import('./cases.mjs');
const { outsideCases, records } = await import('./cases_outside.mjs');
const shots = join(root, 'screenshots');
mkdirSync(shots, { recursive: true });
const axe = join(root, 'node_modules/axe-core/axe.min.js');

const [program, part = ''] = process.argv.slice(2);
if (![...Object.keys(cases), ...Object.keys(outsideCases)].some((name) => name.includes(part))) {
  console.error(`no case has '${part}' in its name`);
  process.exit(2);
}

// The number of failed cases.
async function runOn(options, all) {
  const chosen = Object.fromEntries(Object.entries(all).filter(([name]) => name.includes(part)));
  if (Object.keys(chosen).length === 0) return 0;
  try {
    return await withSeededServer(program, options, (address) =>
      run({ address, chromium, shots, axe }, chosen),
    );
  } catch (error) {
    console.error(error);
    return 1;
  }
}

const tokens = ['--token', 'submit=browser-submit', '--token', 'cancel=browser-cancel'];
const failed =
  (await runOn(['--experiments', '40', '--samples', '2000', ...tokens], cases)) +
  (await runOn(['--experiments', '0', ...records.flatMap((file) => ['--record', file])], outsideCases));
process.exit(failed === 0 ? 0 : 1);
