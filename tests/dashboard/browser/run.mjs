// Runs the page in a real browser against a server of its own with made-up experiments. Leaves
// screenshots in tests/dashboard/screenshots. Exit code 77 and a line "SKIPPED: …": something that
// cannot be had here is missing.
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium, root } from './setup.mjs';

const chromium = findChromium();
const directory = mkdtempSync(join(tmpdir(), 'steady-page-'));
chmodSync(directory, 0o755); // as root the database runs under a user of its own
const server = spawn(
  process.argv[2],
  [
    `private:${directory}`,
    '--experiments',
    '40',
    '--samples',
    '2000',
    '--token',
    'submit=browser-submit',
    '--token',
    'cancel=browser-cancel',
  ],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
let code = 1;
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
  const shots = join(root, 'screenshots');
  mkdirSync(shots, { recursive: true });
  const { run } = await import('./cases.mjs');
  code = await run({
    address,
    chromium,
    shots,
    axe: join(root, 'node_modules/axe-core/axe.min.js'),
  });
} catch (error) {
  console.error(error);
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
process.exit(code);
