// Runs the page in a real browser against servers of its own: one with made-up experiments, and one
// with a few real records of programs of others (cases_outside.mjs). Leaves screenshots in
// tests/dashboard/screenshots. Exit code 77 and a line "SKIPPED: …": something that cannot be had
// here is missing.
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cases, run } from './cases.mjs';
import { outsideCases, records } from './cases_outside.mjs';
import { findChromium, root } from './setup.mjs';

const chromium = findChromium();
const shots = join(root, 'screenshots');
mkdirSync(shots, { recursive: true });

// The number of failed cases.
async function runOn(options, chosen) {
  const directory = mkdtempSync(join(tmpdir(), 'steady-page-'));
  chmodSync(directory, 0o755); // as root the database runs under a user of its own
  const server = spawn(process.argv[2], [`private:${directory}`, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const address = await new Promise((resolve, reject) => {
      let text = '';
      server.stdout.on('data', (chunk) => {
        text += chunk;
        const found = text.match(/http:\/\/[^\s]+/);
        if (found) resolve(found[0].replace(/\/$/, ''));
      });
      server.on('exit', () => reject(new Error('the server ended before it said its address')));
      setTimeout(() => reject(new Error('no server after 60 s')), 60000).unref();
    });
    const axe = join(root, 'node_modules/axe-core/axe.min.js');
    return await run({ address, chromium, shots, axe }, chosen);
  } catch (error) {
    console.error(error);
    return 1;
  } finally {
    const ended = new Promise((resolve) => {
      server.on('exit', resolve);
    });
    if (server.exitCode === null) {
      server.kill('SIGTERM');
      await ended;
    }
    rmSync(directory, { recursive: true, force: true });
  }
}

const tokens = ['--token', 'submit=browser-submit', '--token', 'cancel=browser-cancel'];
const failed =
  (await runOn(['--experiments', '40', '--samples', '2000', ...tokens], cases)) +
  (await runOn(['--experiments', '0', ...records.flatMap((file) => ['--record', file])], outsideCases));
process.exit(failed === 0 ? 0 : 1);
