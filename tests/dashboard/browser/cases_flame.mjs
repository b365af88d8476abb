// Where the CPU time went, by call stack.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { api, open } from './pages.mjs';

export const flameCases = {
  async 'flame graphs of A, of B and their difference; a frame alone; no markup from names'(context) {
    const { page } = context;
    const { rows } = await api(context, '/experiments.json?verdict=accept&limit=200');
    const one = [...rows].sort((x, y) => y.effect - x.effect)[0];
    await open(context, `/x/${one.id}`);
    await page.waitForSelector('.flame-graph');
    assert.equal(await page.locator('.flame-graph').count(), 3);
    const frame = (at, name) =>
      page.locator(`.flame-graph >> nth=${at} >> .frame[data-name="${name}"] rect`);
    const width = async (at, name) => Number(await frame(at, name).getAttribute('width'));
    const data = await api(context, `/x/${one.id}/flame.json`);
    const time = (name) => data.frames.find((row) => row.name === name);
    // One scale for both arms: widths are as their times.
    const ratio = (await width(2, 'dequantise')) / (await width(1, 'dequantise'));
    assert.ok(Math.abs(ratio - time('dequantise').b_ns / time('dequantise').a_ns) < 0.01, `${ratio}`);
    assert.equal(time('dequantise').change, -1);
    assert.equal(await page.locator('.flame-graph >> nth=0 >> .frame.less[data-name="dequantise"]').count(), 1);
    assert.match(
      await page.getByRole('region', { name: 'CPU time of functions themselves' }).first().innerText(),
      /dequantise[^]*▲ −\d/,
    );
    await page.locator('.flames').screenshot({ path: join(context.shots, 'flame.png') });
    await frame(1, 'attention').click();
    assert.ok((await width(1, 'attention')) > 990, 'the frame fills the picture');
    assert.equal(await frame(1, 'experts').count(), 0);
    assert.equal(await page.locator('.flames img').count(), 0, 'a function named as markup');
    await page.getByRole('button', { name: 'Show all' }).click();
    assert.ok((await width(1, 'attention')) < 200);
  },
};
