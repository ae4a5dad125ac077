import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import { browserOf, complaintsOf, violationsOf, waitUntilLoaded } from './support/console/browsing.ts';
import { newConsoleTenant, type Visitor } from './support/console/world.ts';
import { done, newApp } from './support/people.ts';
import { startEmbedded } from './support/server.ts';
import { until } from './support/until.ts';

describe.if(hasChromium)('feeds, history, trash, search, files and references in the console', () => {
  let owner: Visitor;
  let browser: BrowserContext;
  let place: { console: string; app: string; data: string };

  beforeAll(async () => {
    const server = await startEmbedded();
    const tenant = await newConsoleTenant(server, 'Features');
    owner = tenant.member;
    const app = await newApp(tenant, { owner }, { name: 'Blog' });
    place = {
      console: `${server.baseUrl}/t/${tenant.slug}/apps/${app.slug}`,
      app: app.base,
      data: `/data/${tenant.slug}/${app.slug}`,
    };
    const tables = {
      authors: { columns: ['name:text'] },
      posts: {
        columns: ['title:text', 'body:text', 'author:ref:authors:nullable', 'photo:file:nullable'],
        indexes: [{ search: { title: 'A', body: 'B' }, language: 'english' }],
      },
    };
    await done(owner.call('POST', `${place.app}/schema`, { tables }));
    for (const name of ['Ada', 'Bob']) await done(owner.call('POST', `${place.data}/authors`, { name }));
    browser = await browserOf(server, owner);
  });
  afterAll(() => browser?.close());

  async function confirmed(page: Page, verb: string): Promise<void> {
    const dialog = page.getByRole('dialog').filter({ hasText: 'the following changes will be made' });
    await dialog.getByRole('button', { name: verb, exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
  }

  test('are switched on, and used from a live row to its restoration', async () => {
    const page = await browser.newPage();
    page.setDefaultTimeout(20_000);
    const complaints = complaintsOf(page);
    await page.goto(`${place.console}/tables/posts?view=schema`);
    await waitUntilLoaded(page);
    const options = page.locator('form').filter({ hasText: 'Changes, history and trash' });
    await options.getByLabel('Change feed').check();
    await options.getByLabel('History').fill('30');
    await options.getByText(/such as 30d; at most/).waitFor();
    await options.getByLabel('History').fill('30d');
    await options.getByLabel('Trash').fill('7d');
    expect(await violationsOf(page)).toEqual([]);
    await options.getByRole('button', { name: 'Preview change' }).click();
    await confirmed(page, 'Update table');
    expect(await done(owner.call('GET', `${place.app}/tables/posts`))).toMatchObject({
      changes: true,
      history: '30d',
      soft_delete: '7d',
    });

    await page.goto(`${place.console}/tables/posts`);
    await page.getByText('No rows yet').waitFor();
    const live = page.getByRole('switch', { name: 'Live' });
    const feed = page.waitForResponse((response) => response.url().includes('/_changes'));
    await live.check();
    await feed;
    const row = { title: 'Green tea', body: 'How to brew <b>it</b>' };
    const { id } = await done(owner.call('POST', `${place.data}/posts`, row));
    await done(owner.call('POST', `${place.data}/posts`, { title: 'Coffee', body: 'Black' }));
    const grid = page.getByRole('grid');
    await grid.getByText('Green tea').waitFor();
    await grid.getByText('Coffee').waitFor();

    const tea = grid.locator('tbody tr').filter({ hasText: 'Green tea' });
    await tea.locator('td').nth(4).dblclick();
    const author = page.getByRole('dialog', { name: /^Edit author/ });
    await author.getByLabel('author').first().fill('Ad');
    await page.getByRole('option', { name: 'Ada' }).click();
    await author.getByRole('button', { name: 'Apply' }).click();
    await author.waitFor({ state: 'hidden' });
    await tea.locator('td').nth(5).dblclick();
    const photo = page.getByRole('dialog', { name: /^Edit photo/ });
    const file = { name: 'tea.png', mimeType: 'image/png', buffer: Buffer.from('89504e47', 'hex') };
    await page.locator('input[type=file]').setInputFiles(file);
    await photo.getByText('tea.png').waitFor();
    await photo.getByRole('button', { name: 'Apply' }).click();
    await photo.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Review 2 changes' }).click();
    const review = page.getByRole('dialog');
    await review.getByRole('button', { name: 'Save 2 changes' }).click();
    await review.waitFor({ state: 'hidden' });
    await tea.getByRole('link', { name: 'Ada' }).waitFor();
    const downloading = page.waitForEvent('download');
    await tea.getByRole('link', { name: 'tea.png' }).click();
    const download = await downloading;
    expect(readFileSync(await download.path())).toEqual(file.buffer);

    await page.getByRole('searchbox').fill('brewing');
    await page.keyboard.press('Enter');
    await grid.getByText('Coffee').waitFor({ state: 'detached' });
    await grid.locator('mark', { hasText: 'brew' }).waitFor();
    await grid.getByText('<b>it</b>').first().waitFor();
    expect(await violationsOf(page)).toEqual([]);

    await tea.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'History' }).click();
    const history = page.getByRole('dialog', { name: /^History of row/ });
    await history.getByText('Inserted').waitFor();
    await history.getByText('Changed', { exact: true }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await history.waitFor({ state: 'hidden' });

    await page.getByRole('button', { name: 'Delete 1 row' }).click();
    const remove = page.getByRole('dialog', { name: /^Delete 1 row/ });
    await remove.getByText('Deleted rows can be restored for 7d.').waitFor();
    await remove.getByRole('button', { name: 'Delete 1 row' }).click();
    await remove.waitFor({ state: 'hidden' });
    expect((await owner.call('GET', `${place.data}/posts/${id}`)).status).toBe(404);
    await page.getByRole('button', { name: 'Trash' }).click();
    const trash = page.getByRole('dialog', { name: /^Deleted rows/ });
    await trash.getByText('Green tea').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await trash.getByRole('button', { name: `Restore row ${id}` }).click();
    await trash.getByText('The trash is empty.').waitFor();
    await page.keyboard.press('Escape');
    await grid.getByText('Green tea').first().waitFor();
    expect(await done(owner.call('GET', `${place.data}/posts/${id}`))).toMatchObject(row);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('a change of many rows is undone from the history of one of them, and a deletion from the trash', async () => {
    const stock = { columns: ['item:text', 'qty:int:0'], history: '30d', soft_delete: '7d' };
    await done(owner.call('POST', `${place.app}/schema`, { tables: { stock } }));
    const data = `${place.data}/stock`;
    const ids: string[] = [];
    for (const [qty, item] of ['Tea', 'Pot', 'Cup'].entries())
      ids.push((await done(owner.call('POST', data, { item, qty }))).id);
    const items = async () =>
      (await done(owner.call('GET', `${data}?sort=qty`))).data.map(({ item }: { item: string }) => item);
    const undo = (dialog: Locator) => dialog.getByRole('button', { name: /^Undo the whole change…/ });
    await done(owner.call('PATCH', `${data}?qty=lt.9`, { item: 'same' }));

    const page = await browser.newPage();
    page.setDefaultTimeout(20_000);
    const complaints = complaintsOf(page);
    await page.goto(`${place.console}/tables/stock?sort=qty`);
    const first = page.getByRole('grid').locator('tbody tr').first();
    await first.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'History' }).click();
    const history = page.getByRole('dialog', { name: /^History of row/ });
    await undo(history).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await undo(history).click();
    const plan = page.getByRole('dialog', { name: 'Undo a change of stock' });
    await plan.getByRole('row', { name: /updated.*3/ }).waitFor();
    await history.waitFor({ state: 'hidden' });
    expect(await violationsOf(page)).toEqual([]);
    expect(await items()).toEqual(['same', 'same', 'same']);
    await confirmed(page, 'Undo');
    await page.getByText('Rows restored: 3.').waitFor();
    await first.getByText('Tea').waitFor();
    expect(await items()).toEqual(['Tea', 'Pot', 'Cup']);

    await done(owner.call('DELETE', `${data}?qty=lt.2`));
    expect((await owner.call('DELETE', `${data}/${ids[2]}`)).status).toBe(204);
    await page.getByRole('button', { name: 'Trash' }).click();
    const trash = page.getByRole('dialog', { name: /^Deleted rows/ });
    await trash.getByText('Cup').waitFor();
    // Cup was deleted alone.
    expect(await undo(trash).count()).toBe(2);
    await undo(trash).first().click();
    await plan.getByRole('row', { name: /inserted.*2/ }).waitFor();
    await confirmed(page, 'Undo');
    await page.getByText('Rows restored: 2.').waitFor();
    expect(await items()).toEqual(['Tea', 'Pot']);
    expect(complaints).toEqual([]);

    await done(owner.call('PATCH', `${data}?qty=lt.9`, { item: 'same' }));
    await done(owner.call('PATCH', `${data}/${ids[1]}`, { item: 'later' }));
    await page.reload();
    await first.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'History' }).click();
    await undo(history).first().click();
    await history.getByText('1 of 2 rows have changed since. Nothing was restored.').waitFor();
    expect(await items()).toEqual(['same', 'later']);
    await page.close();
  });

  test('bars of groups are as long as their values, beside the largest', async () => {
    const sales = { columns: ['region:text', 'amount:int:nullable'] };
    await done(owner.call('POST', `${place.app}/schema`, { tables: { sales } }));
    const rows: [string, ...(number | null)[]][] = [
      ['asia', 40, 10],
      ['eu', 70, 30, 100],
      ['north', null],
      ['south', -20],
      ['us', 25],
    ];
    for (const [region, ...amounts] of rows)
      for (const amount of amounts) await done(owner.call('POST', `${place.data}/sales`, { region, amount }));
    const page = await browser.newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(`${place.console}/tables/sales`);
    await page.getByLabel('Group by').selectOption('region');
    const groups = page.getByRole('table', { name: 'Groups of sales' });
    /** Of the place for a bar, in percent. */
    const bars = () =>
      groups.locator('tbody tr').evaluateAll((lines) =>
        lines.map((line) => {
          const bar = line.querySelector('[role="progressbar"]') as HTMLElement;
          const of = bar.parentElement as HTMLElement;
          const share = bar.getBoundingClientRect().width / of.getBoundingClientRect().width;
          return [line.querySelector('td')?.textContent ?? '', Math.round(share * 100)];
        }),
      );
    const expectBars = async (value: string, expected: Record<string, number>) => {
      await page.getByLabel('Value of each group').selectOption(value);
      let shown: unknown = null;
      await until(`the bars of ${value}`, async () => {
        shown = Object.fromEntries(await bars());
        return Bun.deepEquals(shown, expected);
      }).catch(() => {});
      expect(shown).toEqual(expected);
    };
    await expectBars('count()', { asia: 67, eu: 100, north: 33, south: 33, us: 33 });
    await expectBars('amount.sum()', { asia: 25, eu: 100, north: 0, south: 0, us: 13 });
    await expectBars('amount.max()', { asia: 40, eu: 100, north: 0, south: 0, us: 25 });
    await page.close();
  });
});
