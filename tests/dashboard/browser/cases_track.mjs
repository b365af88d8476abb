// Cases about histories, machines and searches for a commit; cases.mjs runs them with its own.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { accepted, api, arrived, open, PAGES } from './pages.mjs';

export const trackCases = {
  async 'several series of several machines in one chart, each a line of its own'(context) {
    const { page } = context;
    await open(context, '/s');
    const picks = page.locator('input.pick');
    await picks.nth(0).check();
    await picks.nth(1).check();
    await page.getByRole('button', { name: 'Chart together' }).click();
    await arrived(context, /\/together\?s=/);
    await page.waitForSelector('.chart[data-drawn]');
    const lines = page.getByRole('region', { name: 'Lines of the chart' }).locator('tbody tr');
    assert.equal(await lines.count(), 2);
    const { list } = await api(context, `/together.json${new URL(page.url()).search}`);
    assert.equal(list.length, 2, 'each series keeps its own points');
    assert.ok(list.every((one) => one.points.length > 20));
    await page.getByRole('link', { name: '× reference' }).click();
    await arrived(context, /mode=abs/);
    await page.locator('#add-line').click();
    await page.waitForFunction(() => document.querySelectorAll('[aria-label="Lines of the chart"] tbody tr').length === 3);
    await page.waitForSelector('.chart[data-drawn]');
    await page.screenshot({ path: join(context.shots, 'together.png'), fullPage: true });
    await page.getByRole('link', { name: 'Leave out line A' }).click();
    await page.waitForFunction(() => document.querySelectorAll('[aria-label="Lines of the chart"] tbody tr').length === 2);
    await open(context, '/together?s=no-such-series');
    await page.getByText(/no series 'no-such-series'/).waitFor();
    context.expected.push(/404/);
  },

  async 'a note and a mark on a series carry a name, are shown and can be removed'(context) {
    const { page } = context;
    const { rows } = await api(context, '/s.json');
    const { points } = await api(context, `/s/${rows[0].name}.json`);
    const commit = points.filter((point) => point.ratio !== null)[30].commit;
    await open(context, `/s/${rows[0].name}?at=${commit.slice(0, 12)}`);
    assert.equal(await page.locator('#note-commit').inputValue(), commit.slice(0, 12));
    await page.locator('#note-text').fill('<b>the loader was new</b>');
    await page.locator('#note-save').click();
    await page.getByText(/a token with scope submit is needed/).waitFor();
    context.expected.push(/401/, /400/);
    await page.locator('#note-token').fill('browser-submit');
    await page.locator('#note-save').click();
    const item = page.locator('.notes li').filter({ hasText: '<b>the loader was new</b>' });
    await item.waitFor();
    assert.match(await item.innerText(), /1 · note at .* submit, /, 'the token’s name');
    await page.locator('#note-commit').fill('0000000');
    await page.locator('#note-text').fill('nowhere');
    await page.locator('#note-save').click();
    await page.getByText(/begins no commit of this series/).waitFor();
    await page.locator('#note-commit').fill(commit);
    await page.locator('#note-kind').selectOption('mark');
    await page.locator('#note-text').fill('a new level begins');
    await page.locator('#note-save').click();
    await page.locator('.notes li').nth(1).waitFor();
    await page.waitForSelector('.chart[data-drawn]');
    await page.screenshot({ path: join(context.shots, 'series-notes.png'), fullPage: true });
    await page.getByRole('button', { name: 'Remove note 1' }).click();
    await page.waitForFunction(() => document.querySelectorAll('.notes li').length === 1);
    assert.deepEqual(
      (await api(context, `/s/${rows[0].name}.json`)).notes.map((one) => [one.kind, one.author]),
      [['mark', 'submit']],
    );
    await page.evaluate(() => sessionStorage.clear());
  },

  async 'the noise of a machine over time, by metric, mode and model'(context) {
    const { page } = context;
    await open(context, '/hosts');
    await page.locator('article h2 a').first().click();
    await arrived(context, /\/hosts\/.+/);
    const name = decodeURIComponent(page.url().split('/').at(-1));
    const { noise_runs: runs } = await api(context, `/hosts/${name}.json`);
    assert.ok(runs.length >= 3, `${runs.length} runs`);
    await page.waitForSelector('.chart[data-drawn]');
    const kinds = new Set(runs.map((run) => [run.metric, run.mode, run.model, run.gpu].join()));
    const lines = page.getByRole('region', { name: 'Noise by metric, mode, model and GPU' });
    assert.equal(await lines.locator('tbody tr').count(), kinds.size, 'never one line for two');
    await page.screenshot({ path: join(context.shots, 'host.png'), fullPage: true });
  },

  async 'the distributions of A and B'(context) {
    const { page } = context;
    const one = await accepted(context);
    await open(context, `/x/${one.id}`);
    await page.getByText('Distributions: all values').click();
    const image = page.locator('img[src$="distribution.svg"]');
    await image.scrollIntoViewIfNeeded();
    await page.waitForFunction((node) => node.complete && node.naturalWidth > 0, await image.elementHandle());
    await page.goto(`${context.address}/x/${one.id}/figure/distribution.svg`);
    assert.match(await page.locator('svg').innerHTML(), /A: median .*half of the values from/);
    await page.screenshot({ path: join(context.shots, 'distribution.png') });
  },

  async 'a search that nobody can run is refused with the reason'(context) {
    const { page } = context;
    const spec = {
      id: 'two-revisions',
      owner: 'browser',
      hypothesis: { claim: 'The newer revision is faster', because: 'it has less to do there' },
      subject: { program: 'outside', name: 'parser', repo: 'parser' },
      arms: { A: { rev: 'v1.4', run: ['./bench'] }, B: { rev: 'v1.6', run: ['./bench'] } },
      expect_diff: ['rev'],
      gates: [
        { id: 'runs', level: 'correctness', role: 'guard', need: { exit: 0 } },
        { id: 'time', level: 'model', role: 'decides', metric: 'wall_seconds' },
      ],
    };
    const headers = { 'Content-Type': 'application/json', Authorization: 'Bearer browser-submit' };
    const reply = await fetch(`${context.address}/api/experiments`, {
      method: 'POST',
      body: JSON.stringify(spec),
      headers,
    });
    const { id, ...rest } = await reply.json();
    assert.ok(id, JSON.stringify(rest));
    await open(context, `/x/${id}`);
    assert.equal(await page.locator('#bisect-good').inputValue(), 'v1.4');
    await page.locator('#bisect-ask').click();
    await page.getByText(/a token with scope submit is needed/).waitFor();
    context.expected.push(/401/, /409/, /400/);
    await page.locator('#bisect-token').fill('browser-submit');
    await page.locator('#bisect-ask').click();
    await page.getByText(/no worker has registered the program 'parser'/).waitFor();
    await page.locator('#bisect-good').fill('v1..v2');
    await page.locator('#bisect-ask').click();
    await page.getByText(/\/good: allowed: a commit, branch or tag/).waitFor();
    await page.screenshot({ path: join(context.shots, 'bisect.png'), fullPage: true });
    await page.evaluate(() => sessionStorage.clear());
  },

  async 'no table clips or scrolls sideways at 1,400 px'(context) {
    const { page } = context;
    await page.setViewportSize({ width: 1400, height: 900 });
    const { rows } = await api(context, '/experiments.json?verdict=accept');
    const { rows: series } = await api(context, '/s.json');
    const wide = [];
    for (const path of [
      ...PAGES,
      `/compare/${rows[0].id}...${rows[1].id}`,
      `/x/${rows[0].id}`,
      `/together?s=${series[0].name},${series[1].name}`,
      `/s/${series[0].name}`,
    ]) {
      await open(context, path);
      const found = await page.evaluate(() =>
        [...document.querySelectorAll('.scroll')]
          .filter((one) => one.scrollWidth > one.clientWidth + 1)
          .map((one) => `${one.getAttribute('aria-label')}: ${one.scrollWidth} > ${one.clientWidth}`),
      );
      if (path === '/kernels' || path.startsWith('/compare')) {
        const name = `${path.split('/')[1]}-1400.png`;
        await page.screenshot({ path: join(context.shots, name), fullPage: true });
      }
      wide.push(...found.map((text) => `${path}: ${text}`));
    }
    assert.deepEqual(wide, []);
    await page.setViewportSize({ width: 1280, height: 900 });
  },
};
