// A server with made-up content or given records, for one test.
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// What use(address) gives. The server and its database end, and their folder goes, whatever happens.
// program: seeded_server; options: its own but the database.
export async function withSeededServer(program, options, use) {
  const directory = mkdtempSync(join(tmpdir(), 'steady-page-'));
  chmodSync(directory, 0o755); // as root the database runs under a user of its own
  const server = spawn(program, [`private:${directory}`, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => {
    server.on('exit', resolve);
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
    return await use(address);
  } finally {
    if (server.exitCode === null) {
      server.kill('SIGTERM');
      await ended;
    }
    rmSync(directory, { recursive: true, force: true });
  }
}
