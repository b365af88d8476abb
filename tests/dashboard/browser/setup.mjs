// What every browser test needs: a Chromium, playwright-core, and a visible reason when one of them
// cannot be had.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

export const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function skip(why) {
  console.log(`SKIPPED: ${why}`);
  process.exit(77);
}

// Path of the browser: the Chromium that draws no windows where there is one, which takes a third less CPU time.
// Installs playwright-core from the lockfile on first use.
export function findChromium() {
  const chromium = [
    '/usr/bin/chromium-headless-shell',
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ].find(existsSync);
  if (!chromium) skip('no chromium (apt-get install chromium-headless-shell)');
  if (existsSync(join(root, 'node_modules/playwright-core'))) return chromium;
  try {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], {
      cwd: root,
      stdio: 'pipe',
      timeout: 120000,
    });
  } catch (error) {
    const why = String(error.message).split('\n')[0];
    skip(`playwright-core is not installed and npm ci did not work (${why})`);
  }
  return chromium;
}
