// Cases about programs of others: what ran, what was built, what differs, every cell and setting.
// They read records of real runs, so each number has a source: the record's own JSON.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { api, open } from './pages.mjs';

const at = (path) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const LOOP = 'loop-at-three-sizes';
const SWEEP = 'sum-in-awk-confirm';
const LAYOUT = 'parse-with-tcache';

export const records = [
  at('tests/data/records/loop-at-three-sizes.steady.json'),
  at('tests/data/records/sum-in-awk-confirm.steady.json'),
  at('experiments/records/parse-with-tcache-6648e2c4.steady.json'),
];

// Opens the page of a record and gives its JSON.
async function openRecord(context, name) {
  const { rows } = await api(context, '/experiments.json?limit=50');
  const row = rows.find((one) => one.id.startsWith(name));
  assert.ok(row, `no record of ${name}`);
  await open(context, `/x/${row.id}`);
  return api(context, `/x/${row.id}.json`);
}

// The texts of a table's cells, row by row, by the name of its region.
async function cells(page, label) {
  const rows = page.getByRole('region', { name: label, exact: true }).locator('tbody tr');
  return rows.evaluateAll((list) =>
    list.map((row) => [...row.cells].map((cell) => cell.innerText.replace(/\s+/g, ' ').trim())),
  );
}

const percent = (fraction) => (100 * Math.abs(fraction)).toFixed(2);

export const outsideCases = {
  async 'an outside program: what each arm runs and how it is built'(context) {
    const { page } = context;
    await openRecord(context, LOOP);
    assert.deepEqual(await cells(page, 'What each arm runs, gate by gate'), [
      ['same', './loop 300'],
      ['large', './loop 3000'],
      ['medium', './loop 1000'],
      ['small', './loop 300'],
    ]);
    await page.getByText('Each revision is built by make.', { exact: true }).waitFor();
    await openRecord(context, SWEEP);
    const change = await cells(page, 'Difference of the arms');
    assert.deepEqual(change.find((row) => row[0] === 'env.LC_ALL').slice(1), ['unset', 'C']);
    const [same, time] = await cells(page, 'What each arm runs, gate by gate');
    assert.match(time[1], /^awk 'BEGIN .* print "done" }' 2000$/);
    assert.match(time[2], /^awk 'BEGIN .*' 600$/);
    assert.deepEqual(same.slice(1), time.slice(1), 'a gate without a command runs the arm’s');
  },

  async 'an outside program: in what the builds differ, and their logs'(context) {
    const { page } = context;
    const data = await openRecord(context, LOOP);
    await page.getByText('The programs of A and B are different files.').waitFor();
    const facts = data.program.arms;
    const rows = await cells(page, 'In what the programs of the arms differ');
    assert.ok(rows.some((row) => row[1] === facts.A.facts.program_sha256.slice(0, 80)));
    assert.ok(rows.every((row) => row[1] !== row[2]), 'only what differs');
    const equal = await page.locator('summary', { hasText: 'facts are the same in all arms' }).innerText();
    const names = new Set(Object.values(facts).flatMap((arm) => Object.keys(arm.facts)));
    assert.equal(rows.length + Number.parseInt(equal, 10), names.size, 'no fact is left out');
    for (const arm of ['A', 'B']) {
      const log = page.locator('details', { hasText: `How the build of ${arm} ended` });
      assert.equal(await log.locator('pre').isVisible(), false);
      await log.locator('summary').click();
      assert.match(await log.locator('pre').innerText(), /cc -O2 -o loop loop\.c/);
    }
    await page.getByRole('heading', { name: 'The programs' }).scrollIntoViewIfNeeded();
    await page.screenshot({ path: join(context.shots, 'outside.png'), fullPage: true });
  },

  async 'an outside program: a command in a message is shown as one'(context) {
    await open(context, '/');
    const html = await context.page.evaluate(async () => {
      const { h, withCode } = await import('/assets/dom.js');
      return h('p', null, withCode('see `steady queue`, <b>`a` b`')).outerHTML;
    });
    assert.equal(html, '<p>see <code>steady queue</code>, &lt;b&gt;<code>a</code> b`</p>');
  },

  async 'an outside program: every cell of the matrix has an interval of its own'(context) {
    const { page } = context;
    const data = await openRecord(context, LOOP);
    const rows = await cells(page, 'Every cell of the matrix');
    const gates = data.analysis.gates.filter((gate) => gate.level !== 'correctness');
    assert.deepEqual(
      rows.map((row) => row[0]),
      ['3000', '1000', '300'],
    );
    gates.forEach((gate, i) => {
      assert.ok(rows[i][3].includes(percent(gate.effect)), `${gate.id}: ${rows[i][3]}`);
      assert.match(rows[i][3], /\[[+−]?\d.*\]/, 'the interval');
      assert.equal(rows[i][5], String(gate.pairs));
      assert.equal(rows[i][6], gate.outcome);
    });
    assert.equal(new Set(rows.map((row) => row[3])).size, 3);
    assert.equal(await page.getByRole('region', { name: 'Every cell of the matrix' }).locator('svg').count(), 3);
  },

  async 'an outside program: every metric that was measured, with its interval'(context) {
    const { page } = context;
    const data = await openRecord(context, LOOP);
    const rows = await cells(page, 'Every metric of the counted pairs');
    assert.deepEqual(
      rows.map((row) => row[0]),
      data.measured.map((one) => one.metric),
    );
    for (const wanted of ['peak_memory_bytes', 'user_seconds', 'wall_seconds'])
      assert.ok(rows.some((row) => row[0] === wanted), wanted);
    assert.ok(rows.every((row) => /[~▲▼].*\[.*\]/.test(row[3])), 'an interval in each row');
    assert.match(rows.find((row) => row[0] === 'peak_memory_bytes')[1], / MB$/);
    await page.getByText('Only the gates decide.').waitFor();
    const band = page.locator('dt', { hasText: 'A against A on this machine' });
    assert.equal(await band.locator('+ dd').innerText(), 'too few pairs for a band', 'six were measured');
  },

  async 'an outside program: the settings that a sweep tried, one of them chosen'(context) {
    const { page } = context;
    const data = await openRecord(context, SWEEP);
    const rows = await cells(page, 'Every setting of the sweep');
    assert.equal(rows.length, 4);
    assert.deepEqual(
      rows.map((row) => row.slice(0, 2)),
      data.sweep.points.map((point) => [point.values['args.thousands'], point.values['env.LC_ALL']]),
    );
    assert.equal(rows.filter((row) => row[4] === 'chosen').length, 1);
    const chosen = rows.find((row) => row[4] === 'chosen');
    assert.equal(chosen[0], data.sweep.chosen['args.thousands']);
    assert.equal(chosen[1], data.sweep.chosen['env.LC_ALL']);
    await page.getByText('the verdict rests on those new pairs alone').waitFor();
    await page.screenshot({ path: join(context.shots, 'outside-sweep.png'), fullPage: true });
  },

  async 'an outside program: the layout control beside the candidate'(context) {
    const { page } = context;
    const data = await openRecord(context, LAYOUT);
    const rows = await cells(page, 'The layout control and the candidate, each against A');
    assert.deepEqual(
      rows.map((row) => [row[0], row[2]]),
      [
        ['B0 against A', String(data.layout.pairs)],
        ['B against A', String(data.analysis.pairs)],
      ],
    );
    assert.match(rows[1][1], /^▲ /);
    await page.getByText('It decides nothing.').waitFor();
    await page.screenshot({ path: join(context.shots, 'outside-layout.png'), fullPage: true });
  },

  async 'an outside program fits a phone: no sideways scrolling, every section there'(context) {
    const { page } = context;
    await page.setViewportSize({ width: 420, height: 900 });
    for (const name of [LOOP, SWEEP, LAYOUT]) {
      await openRecord(context, name);
      const [inner, outer] = await page.evaluate(() => [
        document.documentElement.scrollWidth,
        window.innerWidth,
      ]);
      assert.ok(inner <= outer, `${name}: ${inner} > ${outer}`);
      if (name === SWEEP) {
        const rows = page.getByRole('region', { name: 'Every setting of the sweep' }).locator('tbody tr');
        for (const row of await rows.all()) assert.ok((await row.boundingBox()).height < 60, 'a row is a line');
      }
      await page.screenshot({ path: join(context.shots, `${name}-phone.png`), fullPage: true });
    }
  },
};
