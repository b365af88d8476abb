// Cases about text that is typed while the page changes; cases.mjs runs them with its own.
import assert from 'node:assert/strict';
import { arrived, open } from './pages.mjs';

export const typingCases = {
  async 'what is typed while a search loads is not lost'(context) {
    const { page } = context;
    await open(context, '/j');
    const field = page.locator('#journal-search');
    await page.route('**/j.json?q=mla', async (route) => {
      await field.evaluate((input) => {
        input.classList.add('earlier');
        document.body.classList.add('asked');
      });
      await page.keyboard.type('_atten');
      await route.continue();
    });
    await page.keyboard.press('/');
    await page.keyboard.type('mla');
    await page.waitForFunction(
      () => document.querySelector('.asked #journal-search:not(.earlier)')?.value === 'mla_atten',
    );
    await page.keyboard.type('tion');
    await arrived(context, '**/j?q=mla_attention');
    assert.equal(await field.inputValue(), 'mla_attention');
    await page.unroute('**/j.json?q=mla');
  },

  async 'what is typed while the page is drawn anew by its clock is not lost'(context) {
    const { page } = context;
    await open(context, '/');
    let answers = 0;
    await page.route(/index\.json/, async (route) => {
      const response = await route.fetch();
      const list = await response.json();
      list.answer = answers += 1; // so it is drawn each time, also where nothing is found
      await route.fulfill({ response, json: list });
    });
    await page.locator('#filter-q').focus();
    let words = '';
    // Until the page was drawn and a little longer, with no pause to search in.
    for (let left = 8; left > 0 && words.length < 160; left -= answers > 0) {
      const letter = 'soft max'[words.length % 8];
      await page.keyboard.type(letter, { delay: 150 });
      words += letter;
    }
    await arrived(context, (url) => url.searchParams.get('q') === words);
    assert.ok(answers > 0, 'the page was polled');
    assert.equal(await page.locator('#filter-q').inputValue(), words);
    await page.unroute(/index\.json/);
  },
};
