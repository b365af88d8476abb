// What a reader does, case by case. Every case also fails on an error in the browser's console, a
// request to another machine, or a dialog that a hostile text opened.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium as driver } from 'playwright-core';
import { flameCases } from './cases_flame.mjs';
import { trackCases } from './cases_track.mjs';
import { typingCases } from './cases_typing.mjs';
import { accepted, api, arrived, drawn, open, PAGES } from './pages.mjs';
import { FLAGS } from './setup.mjs';

// The texts of hostile_strings.h, with C's escapes resolved.
function hostileTexts() {
  const header = readFileSync(new URL('../hostile_strings.h', import.meta.url), 'utf8');
  const body = header.slice(header.indexOf('kHostile'));
  const texts = [];
  for (const found of body.matchAll(/^ {4}(?:R"\((.*)\)"|"((?:[^"\\]|\\.)*)")/gm)) {
    if (found[1] !== undefined) texts.push(found[1]);
    else {
      const bytes = found[2]
        .replace(/\\x([0-9a-f]{2})/g, (all, hex) => String.fromCharCode(parseInt(hex, 16)))
        .replace(/\\(.)/g, (all, c) => ({ n: '\n', r: '\r', t: '\t' })[c] ?? c);
      texts.push(Buffer.from(bytes, 'latin1').toString('utf8'));
    }
  }
  return texts;
}

// Control characters are refused by the decoder; what is left is what may reach a page.
// eslint-disable-next-line no-control-regex
const clean = (text) => text.replace(/[\u0000-\u001f\u007f]/g, ' ').trim();
const visible = (text) => text.replace(/\s+/g, ' ').trim();

async function harmless(page, what) {
  const found = await page.evaluate(() => ({
    pwned: typeof window.steady_pwned !== 'undefined',
    markup: document.querySelectorAll(
      'main script, main iframe, main object, main embed, main [onerror], main [onload], ' +
        'main a[href^="javascript:" i], main a[href^="data:" i], main img[src=x], main style',
    ).length,
  }));
  assert.deepEqual(found, { pwned: false, markup: 0 }, what);
}

export const cases = {
  ...trackCases,
  ...flameCases,
  ...typingCases,

  async 'the landing page shows verdicts first, with effect, interval and sign'(context) {
    await open(context, '/');
    const row = context.page
      .locator('table.verdicts tbody tr')
      .filter({ hasText: 'accept' })
      .first();
    await row.waitFor();
    const text = await row.innerText();
    assert.match(text, /[+−]\d+\.\d+.%/);
    assert.match(text, /\[.+,.+\]/);
    assert.ok((await context.page.locator('.run').count()) >= 1, 'what runs stands on top');
    const painted = await context.page.evaluate(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
    );
    console.log(`    first contentful paint ${Math.round(painted)} ms`);
  },

  async 'filters live in the address and survive reload and back'(context) {
    const { page } = context;
    await open(context, '/');
    await page.getByRole('link', { name: 'reject', exact: true }).click();
    await arrived(context, '**/?verdict=reject');
    await page.waitForFunction(() =>
      [...document.querySelectorAll('.verdicts .badge')].every((one) =>
        one.textContent.includes('reject'),
      ),
    );
    await page.locator('#filter-q').fill('softmax');
    await arrived(context, '**/?verdict=reject&q=softmax');
    await page.reload();
    await drawn(context);
    assert.equal(await page.locator('#filter-q').inputValue(), 'softmax');
    assert.match(await page.locator('table.verdicts').innerText(), /softmax/);
    await open(context, '/');
    await page.getByRole('link', { name: 'accept', exact: true }).click();
    await arrived(context, '**/?verdict=accept');
    await page.goBack();
    await arrived(context, `${context.address}/`);
  },

  async 'an experiment: verdict, hypothesis, ladder, figures, profile, repeat'(context) {
    const { page } = context;
    const one = await accepted(context);
    await open(context, `/x/${one.id}`);
    const head = await page.locator('header.verdict').innerText();
    assert.match(head, /accept/);
    assert.match(head, /\+\d/);
    for (const title of [
      'Hypothesis',
      'The change',
      'Evidence',
      'Gates',
      'Where the time goes',
      'Assumption checks',
      'Environment',
      'Attempts',
      'Repeat',
    ]) {
      assert.equal(await page.getByRole('heading', { name: title, exact: true }).count(), 1, title);
    }
    assert.match(await page.locator('main').innerText(), /Launches per token/);
    const times = await page.getByRole('region', { name: 'Time per op' }).allTextContents();
    assert.match(times.join(' '), /[−+][\d.]+\u202f% \[[−+±]/); // a change travels with its interval
    for (const image of await page.locator('.evidence .figure img').all()) {
      await image.scrollIntoViewIfNeeded();
      await page.waitForFunction((node) => node.complete, await image.elementHandle());
      assert.ok(await image.evaluate((node) => node.naturalWidth > 0), 'a figure did not load');
    }
    assert.match(
      await page.locator('footer').innerText(),
      new RegExp(`steady show ${one.id} --json`),
    );
    await page.screenshot({ path: join(context.shots, 'experiment.png'), fullPage: true });
  },

  async 'an experiment names all runs of its question and what they say together'(context) {
    const { rows } = await api(context, '/experiments.json?limit=200');
    const documents = await Promise.all(rows.map((row) => api(context, `/x/${row.id}.json`)));
    const several = documents.find((one) => one.runs.count > 1 && one.analysis);
    assert.ok(several, 'the made-up experiments ask some questions more than once');
    await open(context, `/x/${several.id}`);
    const text = await context.page.locator('#runs-summary').innerText();
    assert.equal(visible(text), `${several.runs.count} runs: ${several.runs.summary}.`);
    const shown = context.page.locator('table', { hasText: 'this run' }).locator('tbody tr');
    assert.equal(await shown.count(), several.runs.count);
    await shown.locator('a').first().click();
    await context.page.locator('#runs-summary').waitFor();
  },

  async 'a link follows to the journal entry and back'(context) {
    const { page } = context;
    const one = await accepted(context);
    await open(context, `/x/${one.id}`);
    await page.getByRole('link', { name: 'Journal entry' }).click();
    await page.waitForSelector('main.entry article');
    assert.match(await page.locator('article').innerText(), /decode/);
    await page.screenshot({ path: join(context.shots, 'entry.png'), fullPage: true });
    await page.getByRole('link', { name: 'Experiment', exact: true }).click();
    await page.waitForSelector('header.verdict');
  },

  async 'all pairs, with their order'(context) {
    const one = await accepted(context);
    await open(context, `/x/${one.id}/pairs`);
    const rows = await context.page.locator('tbody tr').count();
    assert.equal(rows, one.pairs);
    await context.page.screenshot({ path: join(context.shots, 'pairs.png') });
  },

  async 'two experiments side by side'(context) {
    const { rows } = await api(context, '/experiments.json?verdict=accept');
    await open(context, `/compare/${rows[0].id}...${rows[1].id}`);
    assert.match(await context.page.locator('main').innerText(), /Environment/);
  },

  async 'the journal finds what was tried'(context) {
    const { page } = context;
    await open(context, '/j');
    await page.keyboard.press('/');
    await page.keyboard.type('mla_attention');
    await arrived(context, '**/j?q=mla_attention');
    await page.getByText(/Tried \d+ times/).waitFor();
  },

  async 'submit: errors as one types, plan, token, then the queue; and cancelling'(context) {
    const { page } = context;
    await open(context, '/submit');
    const area = page.locator('#spec');
    await page.getByRole('heading', { name: 'What would run' }).waitFor();
    const good = await area.inputValue();
    await area.fill(good.replace('"decides"', '"decide"'));
    await page.locator('.errors li').first().waitFor();
    assert.match(await page.locator('.errors').innerText(), /\/gates\/1\/role/);
    assert.ok(await page.getByRole('button', { name: 'Put into the queue' }).isDisabled());
    await area.fill(good);
    await page.getByRole('heading', { name: 'What would run' }).waitFor();
    await page.getByRole('button', { name: 'Put into the queue' }).click();
    await page.getByText(/a token with scope submit is needed/).waitFor();
    context.expected.push(/401/);
    await page.locator('#token').fill('browser-submit');
    await page.getByRole('button', { name: 'Put into the queue' }).click();
    await arrived(context, '**/x/my-first-question-*');
    assert.match(await page.locator('header.verdict').innerText(), /queued/);
    await page.evaluate(() => sessionStorage.setItem('steady.token', 'browser-cancel'));
    await page.reload();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('cancelled').first().waitFor();
    await page.evaluate(() => sessionStorage.clear());
  },

  async 'hostile text is shown as text'(context) {
    const { page } = context;
    await open(context, '/submit');
    const good = await page.locator('#spec').inputValue();
    const claim = '<img src=x onerror=document.title=1> <script>alert(1)</script> enough';
    const spec = good
      .replace('Vector instructions make the routed experts faster', claim)
      .replace('"me"', '"<svg onload=alert(1)>"')
      .replace('my-first-question', 'hostile-question');
    const reply = await fetch(`${context.address}/api/experiments`, {
      method: 'POST',
      body: spec,
      headers: { 'Content-Type': 'application/json', Authorization: 'Bearer browser-submit' },
    });
    const { id } = await reply.json();
    for (const path of [`/x/${id}`, '/q', '/?state=queued']) {
      await open(context, path);
      await page.getByText('<script>alert(1)</script>').first().waitFor();
      assert.equal(await page.locator('main script, main img[src=x], main svg[onload]').count(), 0);
    }
  },

  async 'a series: what changed at which commit, all of it in the address'(context) {
    const { page } = context;
    await open(context, '/s');
    const slower = page.locator('table.series tbody tr').filter({ has: page.locator('[title="bench-b81e07d2"]') });
    await slower.first().getByRole('link').first().click();
    await page.waitForSelector('.chart[data-drawn]');
    assert.ok((await page.locator('article.change').count()) >= 1, 'changes are listed');
    await page.getByRole('link', { name: '% since start' }).click();
    await arrived(context, '**/s/*?mode=pct');
    await page.getByRole('link', { name: 'raw time' }).click();
    await arrived(context, '**/s/*?mode=pct&raw=1');
    await page.waitForSelector('.chart[data-drawn]');
    await page.locator('#history').focus();
    await page.keyboard.press('ArrowLeft');
    await arrived(context, /at=[0-9a-f]{12}/);
    const commit = new URL(page.url()).searchParams.get('at').slice(0, 10);
    await page.locator('.point', { hasText: commit }).waitFor();
    await page.reload();
    await page.locator('.point', { hasText: commit }).waitFor();
    await page.waitForSelector('.chart[data-drawn]');
    const box = await page.locator('.u-over').boundingBox();
    await page.mouse.move(box.x + box.width * 0.2, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await arrived(context, /from=[0-9a-f]{12}&to=[0-9a-f]{12}/);
    await page.getByRole('link', { name: 'whole history' }).waitFor();
    await page.screenshot({ path: join(context.shots, 'series-zoomed.png') });
  },

  async 'triage of a change needs a token and is kept'(context) {
    const { page } = context;
    const { rows } = await api(context, '/s.json');
    const name = rows.find((row) => row.open_changes).name;
    await open(context, `/s/${name}`);
    const card = page.locator('article.change').first();
    await card.locator('select').selectOption('wrong');
    await card.locator('input').nth(1).fill('<b>the machine was moved</b>');
    await card.getByRole('button', { name: 'Save' }).click();
    await card.getByText(/a token with scope submit is needed/).waitFor();
    context.expected.push(/401/);
    await card.locator('input[type=password]').fill('browser-submit');
    await card.getByRole('button', { name: 'Save' }).click();
    await page.locator('.triage-wrong').first().waitFor();
    await page.reload();
    await page.locator('.triage-wrong').first().waitFor();
    assert.equal(
      await page.locator('article.change').first().locator('input').nth(1).inputValue(),
      '<b>the machine was moved</b>',
    );
    await page.evaluate(() => sessionStorage.clear());
  },

  async 'an alert names its commits and is triaged with its changes'(context) {
    const { page } = context;
    await open(context, '/alerts');
    const card = page.locator('article.change').first();
    assert.match(await card.innerText(), /steady-engine|failed/);
    const id = await card.getAttribute('id');
    await page.screenshot({ path: join(context.shots, 'alerts.png'), fullPage: true });
    await page.evaluate(() => sessionStorage.setItem('steady.token', 'browser-submit'));
    await page.reload();
    await page.locator(`#${id} select`).selectOption('fixed');
    await page.locator(`#${id} input`).nth(1).fill('<i>mended</i>');
    await page.locator(`#${id}`).getByRole('button', { name: 'Save' }).click();
    await page.getByText(/1 closed/).waitFor();
    const { alerts } = await api(context, '/alerts.json');
    const one = alerts.find((alert) => `alert-${alert.id}` === id);
    assert.equal(one.state, 'fixed');
    assert.equal(one.note, '<i>mended</i>');
    assert.match(one.triaged_by, /^token /);
    await page.evaluate(() => sessionStorage.clear());
  },

  async 'two commits over all series show what moved'(context) {
    const { page } = context;
    const { rows } = await api(context, '/s.json');
    const { points } = await api(context, `/s/${rows[0].name}.json`);
    const measured = points.filter((point) => point.ratio !== null);
    measured.sort((one, other) => one.ratio - other.ratio); // the slowest commit and the fastest
    await open(context, '/s');
    await page.getByLabel('Commit A').fill(measured[0].commit.slice(0, 12));
    await page.getByLabel('Commit B').fill(measured.at(-1).commit.slice(0, 12));
    await page.getByRole('button', { name: 'Compare' }).click();
    await arrived(context, /\/revisions\//);
    await page.getByRole('heading', { name: 'Moved' }).waitFor();
    await page.screenshot({ path: join(context.shots, 'revisions.png'), fullPage: true });
    assert.match(await page.locator('main').innerText(), new RegExp(rows[0].name.split('-on-')[0]));
  },

  async 'copying as Markdown gives the text of the page'(context) {
    const { page } = context;
    const one = await accepted(context);
    const { rows } = await api(context, '/s.json');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    for (const [path, wanted] of [
      [`/x/${one.id}`, /## Verdict/],
      [`/s/${rows[0].name}`, /\| series \| latest commit/],
    ]) {
      await open(context, path);
      await Promise.all([
        page.getByRole('button', { name: 'Copied' }).waitFor(), // it says so for a moment only
        page.getByRole('button', { name: 'Copy as Markdown' }).click(),
      ]);
      assert.match(await page.evaluate(() => navigator.clipboard.readText()), wanted);
    }
  },

  async 'every hostile text, in every field that takes text, is shown as text'(context) {
    const { page } = context;
    const all = hostileTexts();
    assert.ok(all.length >= 60, `${all.length} texts`);
    const headers = {
      'Content-Type': 'application/json',
      Authorization: 'Bearer browser-submit',
    };
    await open(context, '/submit');
    const start = JSON.parse((await page.locator('#spec').inputValue()).replace(/ \/\/ .*$/gm, ''));
    const ids = [];
    for (let i = 0; i < all.length; i += 4) {
      const [claim, because, owner, retry] = [0, 1, 2, 3].map((k) => all[(i + k) % all.length]);
      const spec = structuredClone(start);
      spec.id = `hostile-${i}`;
      spec.owner = clean(owner).slice(0, 60) || 'nobody';
      spec.hypothesis.claim = `${clean(claim)} and enough more`;
      spec.hypothesis.because = `${clean(because)} and enough more`;
      spec.retry_if = clean(retry) || 'never';
      const reply = await fetch(`${context.address}/api/experiments`, {
        method: 'POST',
        body: JSON.stringify(spec),
        headers,
      });
      const text = await reply.text();
      if (reply.status === 201) ids.push({ id: JSON.parse(text).id, spec });
      else assert.equal(reply.status, 422, text);
    }
    assert.ok(ids.length >= 12, `${ids.length} experiments with hostile text`);
    const { rows } = await api(context, '/s.json');
    let series;
    let changes = [];
    for (const row of rows) {
      ({ series, changes } = await api(context, `/s/${row.name}.json`));
      if (changes.length) break;
    }
    for (const { id, spec } of ids) {
      await open(context, `/x/${id}`);
      assert.equal(await page.locator('h1').innerText(), visible(spec.hypothesis.claim));
      await harmless(page, id);
    }
    for (const text of all.slice(0, 12)) {
      await fetch(`${context.address}/api/series/${series.name}/changes/${changes[0].id}`, {
        method: 'POST',
        body: JSON.stringify({ state: 'new', owner: clean(text).slice(0, 60), note: clean(text) }),
        headers,
      });
      await open(context, `/s/${series.name}`);
      await harmless(page, text);
    }
    for (const path of ['/', '/?state=queued', '/q', '/w', '/j']) {
      await open(context, path);
      await harmless(page, path);
    }
    for (const text of all.slice(0, 60)) {
      await open(context, `/?q=${encodeURIComponent(clean(text))}`);
      await harmless(page, text);
    }
  },

  async 'a running experiment moves without reload'(context) {
    const { page } = context;
    const { queue } = await api(context, '/q.json');
    const running = queue.find((row) => row.state === 'running');
    await open(context, `/x/${running.id}`);
    await page.evaluate(() => {
      window.stayed = true;
    });
    await page.waitForResponse((one) => one.url().includes(`${running.id}.json`));
    assert.ok(await page.evaluate(() => window.stayed));
  },

  async 'every page is reachable by keyboard and free of axe violations, light and dark'(context) {
    const { page } = context;
    const source = readFileSync(context.axe, 'utf8');
    const one = await accepted(context);
    const all = [
      ...PAGES,
      `/x/${one.id}`,
      `/x/${one.id}/pairs`,
      '/s/decode-tiny-on-bench-3f9a21c4',
      '/revisions/aaaaaaa...bbbbbbb',
      '/w/bench-3f9a21c4',
      '/hosts/bench-3f9a21c4',
      '/together?s=decode-tiny-on-bench-3f9a21c4,decode-tiny-on-bench-b81e07d2',
      `/compare/${one.id}...${one.id}`,
      `/j/${one.decided_at.slice(0, 10)}-${one.id}`,
    ];
    const found = [];
    // What colours decide is looked at in both schemes; all else is the same in the other.
    const schemes = {
      light: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'],
      dark: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] },
    };
    for (const path of all) {
      await page.emulateMedia({ colorScheme: 'light' });
      await open(context, path);
      // A page that nobody sees is not drawn anew: not under the eyes of axe either.
      await page.evaluate(() => Object.defineProperty(document, 'hidden', { value: true }));
      await page.evaluate(source);
      for (const [colorScheme, runOnly] of Object.entries(schemes)) {
        await page.emulateMedia({ colorScheme });
        const result = await page.evaluate(
          (rules) => axe.run(document, { runOnly: rules, resultTypes: ['violations'] }),
          runOnly,
        );
        for (const violation of result.violations) {
          found.push(
            `${colorScheme} ${path}: ${violation.id}: ${violation.nodes
              .slice(0, 3)
              .map((node) => node.html.slice(0, 160))
              .join(' | ')}`,
          );
        }
        const name = path === '/' ? 'overview' : path.split('/')[1] || 'page';
        await page.screenshot({ path: join(context.shots, `${name}-${colorScheme}.png`) });
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
    assert.deepEqual(found, []);
    await open(context, '/');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  },

  async 'a phone needs no sideways scrolling'(context) {
    const { page } = context;
    await page.setViewportSize({ width: 390, height: 844 });
    const one = await accepted(context);
    for (const path of [...PAGES, `/x/${one.id}`]) {
      await open(context, path);
      const [inner, outer] = await page.evaluate(() => [
        document.documentElement.scrollWidth,
        window.innerWidth,
      ]);
      assert.ok(inner <= outer, `${path}: ${inner} > ${outer}`);
      await page.screenshot({
        path: join(context.shots, `${path === '/' ? 'overview' : path.split('/')[1]}-phone.png`),
      });
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  },

  async 'the page weighs little'(context) {
    const bodies = [];
    context.page.on('response', (response) =>
      bodies.push(response.body().catch(() => Buffer.alloc(0))),
    );
    const one = await accepted(context);
    await open(context, `/x/${one.id}`);
    await context.page.locator('.evidence .figure img').scrollIntoViewIfNeeded();
    await context.page.waitForLoadState('networkidle');
    const all = await Promise.all(bodies);
    const total = all.reduce((sum, body) => sum + body.length, 0);
    console.log(`    ${Math.round(total / 1024)} KB uncompressed in ${all.length} answers`);
    assert.ok(all.length > 10 && total > 40 * 1024, 'the whole page was counted');
    assert.ok(total < 400 * 1024);
  },
};

// The number of cases that failed.
export async function run(context, chosen) {
  const browser = await driver.launch({
    executablePath: context.chromium,
    headless: true,
    args: FLAGS,
  });
  let failed = 0;
  for (const [name, body] of Object.entries(chosen)) {
    const view = await browser.newContext({
      viewport: { width: 1280, height: 900 },
      reducedMotion: 'reduce',
    });
    const page = await view.newPage();
    const errors = [];
    const expected = [];
    const began = performance.now();
    const took = () => `(${((performance.now() - began) / 1000).toFixed(1)} s)`;
    page.setDefaultTimeout(60000);
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('dialog', (dialog) => {
      errors.push(`dialog ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(context.address) && !/^(blob|data):/.test(request.url()))
        errors.push(`foreign request ${request.url()}`);
    });
    try {
      await body({ ...context, page, expected });
      const left = errors.filter((error) => !expected.some((pattern) => pattern.test(error)));
      assert.deepEqual(left, [], 'errors in the browser');
      console.log(`ok      ${name} ${took()}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${name} ${took()}\n${error.stack ?? error}\n${errors.join('\n')}`);
      await page.screenshot({ path: join(context.shots, 'failed.png') }).catch(() => {});
    }
    await view.close();
  }
  await browser.close();
  console.log(`${Object.keys(chosen).length - failed} passed, ${failed} failed`);
  return failed;
}
