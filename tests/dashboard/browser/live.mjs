// One whole working day in a browser: submit an experiment through the page, watch a real worker run
// it on a tiny model, read the verdict, follow to its entry, triage a change of level. Real programs,
// a real database, real samples; nothing is put in by hand but the token and one made-up series.
// Usage: node live.mjs BIN_DIR MODELS_DIR. Exit code 77: something that cannot be had here is missing.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { FLAGS, findChromium, root } from './setup.mjs';

const [bin, models] = process.argv.slice(2);
const chromium = findChromium();
const { chromium: driver } = await import('playwright-core');
const RECORDS = [
  'gpu-mla-cluster-full-3795ea09.steady.json',
  'champion-deep-tile-77a200c4.steady.json',
];
const state = mkdtempSync(join(tmpdir(), 'steady-live-'));
chmodSync(state, 0o755); // as root the database runs under a user of its own
// A project of its own: the worker writes its entry there, not into the journal of this tree.
const project = join(state, 'project');
mkdirSync(join(project, 'journal'), { recursive: true });
cpSync(
  join(dirname(dirname(root)), 'experiments/workloads'),
  join(project, 'experiments/workloads'),
  { recursive: true },
);
// Two of the shipped records, which a first visit imports.
mkdirSync(join(project, 'experiments/records'));
for (const name of RECORDS) {
  const from = join(dirname(dirname(root)), 'experiments/records', name);
  cpSync(from, join(project, 'experiments/records', name));
}
const env = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: state,
  LANG: 'C.UTF-8',
  STEADY_STATE_DIR: state,
  STEADY_ROOT: project,
  STEADY_MODELS: models,
  STEADY_HOST_LOCK: join(state, 'host.lock'),
};
const steady = (...words) => execFileSync(join(bin, 'steady'), words, { env, encoding: 'utf8' });
const children = [];

function start(words, output) {
  const child = spawn(join(bin, 'steady'), words, { env, stdio: ['ignore', output, 'inherit'] });
  children.push(child);
  return child;
}

async function stop(child) {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => {
    child.on('exit', resolve);
  });
  child.kill('SIGTERM');
  await ended;
}

function question(id) {
  return JSON.stringify(
    {
      id,
      owner: 'browser',
      hypothesis: {
        claim: 'Vector instructions make the experts faster than plain loops',
        because: 'many products at once instead of one after the other',
        predict: { metric: 'decode_tps', change: ['+5%', '+90%'] },
      },
      subject: {
        program: 'steady-engine',
        model: 'tiny-glm.gguf',
        workload: 'prose',
        threads: 2,
      },
      arms: {
        A: { kernels: { q4_0_experts: 'reference' } },
        B: { kernels: { q4_0_experts: 'avx2' } },
      },
      expect_diff: ['kernels.q4_0_experts'],
      gates: [
        {
          id: 'tokens',
          level: 'correctness',
          role: 'guard',
          need: { top1_agree: '>=0.9', kl: '<=0.05' },
        },
        { id: 'decode', level: 'model', role: 'decides', metric: 'decode_tps', worth: '1%' },
      ],
      schedule: { mode: 'duet', pairs: { max: 40 }, aa_pairs: 2 },
    },
    null,
    2,
  );
}

async function importsWhatIsShipped(page, address, shot) {
  await page.goto(`${address}/`);
  await page.getByRole('heading', { name: 'No experiment yet' }).waitFor();
  await shot('0-first-visit');
  await page.getByRole('button', { name: `Import all ${RECORDS.length} records` }).click();
  await page.getByText(/A token with scope admin is needed/).waitFor();
  await page.locator('#import-token').fill('live-admin');
  await page.locator('#import-shipped').click();
  await page.locator('table.verdicts tbody tr').nth(RECORDS.length - 1).waitFor();
  assert.equal(await page.locator('table.verdicts tbody tr').count(), RECORDS.length);
  await shot('0-imported');
  await page.evaluate(() => sessionStorage.clear());
}

async function submits(page, address, shot) {
  await page.goto(`${address}/submit`);
  await page.locator('#spec').fill(question('asked-in-a-browser'));
  await page.getByRole('heading', { name: 'What would run' }).waitFor();
  await page.locator('#token').fill('live-token');
  await shot('1-submit');
  await page.getByRole('button', { name: 'Put into the queue' }).click();
  await page.waitForURL('**/x/asked-in-a-browser-*');
}

async function watches(page, shot) {
  await page.evaluate(() => {
    window.stayed = true;
  });
  await page.locator('header.verdict.running').waitFor({ timeout: 200000 });
  const live = page.locator('#so-far');
  await Promise.race([
    live.waitFor({ timeout: 400000 }),
    page.locator('header.verdict .headline').waitFor({ timeout: 400000 }),
  ]);
  const seen = (await live.count()) > 0;
  await shot('2-running');
  await page.locator('header.verdict .headline').waitFor({ timeout: 400000 });
  assert.ok(await page.evaluate(() => window.stayed), 'the page was never reloaded');
  console.log(`    live interval ${seen ? 'seen' : 'not seen before the verdict'}`);
  return seen;
}

async function readsTheVerdict(page, shot) {
  const head = await page.locator('header.verdict').innerText();
  assert.match(head, /accept|reject|inconclusive/);
  // A machine that others keep busy has no number to show, and must say so.
  if (!head.includes('machine too noisy')) {
    assert.match(head, /[+−]\d+\.\d+.%/, 'a number with its sign');
    assert.match(head, /\[.+,.+\]|at least|at most/, 'and its interval');
  }
  console.log(`    ${head.split('\n').slice(0, 3).join(' ')}`);
  await shot('3-verdict');
}

async function followsToTheEntry(page, shot) {
  await page.getByRole('link', { name: 'Journal entry' }).click();
  await page.waitForSelector('main.entry article');
  assert.match(await page.locator('article').innerText(), /Vector instructions/);
  await shot('4-entry');
}

async function triages(page, address, shot) {
  await page.goto(`${address}/s`);
  await page.getByRole('link', { name: 'decode-tiny' }).first().click();
  await page.waitForSelector('.chart[data-drawn]');
  const card = page.locator('article.change').first();
  await card.locator('select').selectOption('acknowledged');
  await card.locator('input').nth(0).fill('browser');
  await card.locator('input').nth(1).fill('seen in the night of the new loader');
  await card.getByRole('button', { name: 'Save' }).click();
  await page.locator('.triage-acknowledged').first().waitFor();
  await page.reload();
  await page.locator('.triage-acknowledged').first().waitFor();
  await shot('5-triage');
}

async function act(address, shots) {
  const browser = await driver.launch({ executablePath: chromium, headless: true, args: FLAGS });
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  // 401: the import is asked for without a token first.
  const refused = /401/;
  page.on(
    'console',
    (message) =>
      message.type() === 'error' && !refused.test(message.text()) && errors.push(message.text()),
  );
  const shot = (name) => page.screenshot({ path: join(shots, `live-${name}.png`), fullPage: true });
  try {
    await importsWhatIsShipped(page, address, shot);
    await submits(page, address, shot);
    await watches(page, shot);
    await readsTheVerdict(page, shot);
    await followsToTheEntry(page, shot);
    await triages(page, address, shot);
    assert.deepEqual(errors, []);
    console.log('ok      first visit, submit, watch, verdict, entry, triage');
    return 0;
  } catch (error) {
    await shot('failed').catch(() => {});
    console.log(`FAILED  at ${page.url()}\n${error.stack}\n${errors.join('\n')}`);
    return 1;
  } finally {
    await browser.close();
  }
}

let code = 1;
try {
  const url = steady('db', 'url').trim();
  execFileSync(
    join(bin, 'seeded_server'),
    [url, '--experiments', '0', '--series', '--no-serve', '--token', 'submit=live-token',
      '--token', 'admin=live-admin'],
    { env },
  );
  const server = start(['serve', '--port', '0'], 'pipe');
  const address = await new Promise((resolve, reject) => {
    server.stdout.on('data', (text) => resolve(String(text).trim().replace(/\/$/, '')));
    server.on('exit', () => reject(new Error('the server ended')));
  });
  start(['worker', '--quiet'], 'ignore');
  const shots = join(root, 'screenshots');
  mkdirSync(shots, { recursive: true });
  code = await act(address, shots);
} finally {
  for (const child of children) await stop(child);
  steady('db', 'stop');
  rmSync(state, { recursive: true, force: true });
}
process.exit(code);
