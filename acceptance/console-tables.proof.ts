import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import {
  browserOf,
  complaintsOf,
  reasonOf,
  violationsOf,
  waitUntilLoaded,
} from './support/console/browsing.ts';

import { newConsoleTenant, type Visitor } from './support/console/world.ts';
import { done, newApp } from './support/people.ts';
import { type RunningServer, startEmbedded } from './support/server.ts';

import { until } from './support/until.ts';

describe.if(hasChromium)('tables in the console', () => {
  let server: RunningServer;
  let owner: Visitor;
  let coOwner: Visitor;
  let browser: BrowserContext;
  /** Paths of the app in the console, in the API, and of its rows. */
  let place: { console: string; app: string; data: string };

  beforeAll(async () => {
    server = await startEmbedded();
    const tenant = await newConsoleTenant(server, 'Grid');
    ({ member: owner, outsider: coOwner } = tenant);
    const app = await newApp(tenant, { owner, coOwner }, { name: 'Shop' });
    place = {
      console: `${server.baseUrl}/t/${tenant.slug}/apps/${app.slug}`,
      app: app.base,
      data: `/data/${tenant.slug}/${app.slug}`,
    };
    browser = await browserOf(server, owner);
  });
  afterAll(() => browser?.close());

  async function open(path: string, from: BrowserContext = browser): Promise<Page> {
    const page = await from.newPage();
    await page.goto(place.console + path);
    await waitUntilLoaded(page);
    return page;
  }
  async function newTable(name: string, rows: object[] = []): Promise<void> {
    const columns = ['title:text', 'n:bigint:nullable', 'done:bool:false', 'extra:jsonb:nullable'];
    await done(owner.call('POST', `${place.app}/tables`, { name, columns }));
    for (const row of rows) await done(owner.call('POST', `${place.data}/${name}`, row));
  }
  // biome-ignore lint/suspicious/noExplicitAny: tests look into rows of every shape.
  const rowsOf = async (table: string, search = '?sort=title'): Promise<any[]> =>
    (await done(owner.call('GET', `${place.data}/${table}${search}`))).data;
  const grid = (page: Page) => page.getByRole('grid');
  const cell = (page: Page, row: number, column: number): Locator =>
    grid(page).locator('tbody tr').nth(row).locator('td').nth(column);
  async function confirmed(page: Page, verb: string): Promise<void> {
    const dialog = page.getByRole('dialog').filter({ hasText: 'the following changes will be made' });
    await dialog.getByRole('button', { name: verb, exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
  }

  test('a table is created after a preview, a row inserted with a form, and a cell changed with the keyboard only', async () => {
    const page = await open('/tables');
    const complaints = complaintsOf(page);
    await page.getByText('No tables yet').waitFor();
    await page.getByRole('button', { name: 'New table' }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).first().fill('todos');
    const first = page.getByRole('group', { name: 'Column 1' });
    await first.getByLabel('Name').fill('select');
    await page.getByRole('button', { name: 'Preview table' }).click();
    await first.getByText(/cannot be a name/).waitFor();
    await first.getByLabel('Name').fill('title');
    await page.getByRole('button', { name: 'Add a column' }).click();
    const second = page.getByRole('group', { name: 'Column 2' });
    await second.getByLabel('Name').fill('n');
    await second.getByLabel('Type').selectOption('bigint');
    await second.getByLabel('Nullable').check();
    await page.getByRole('button', { name: 'Preview table' }).click();
    await page.getByRole('dialog').getByText('title:text').first().waitFor();
    expect((await owner.call('GET', `${place.app}/tables/todos`)).status).toBe(404);
    await confirmed(page, 'Create table');
    await page.getByText('No rows yet').waitFor();
    expect((await done(owner.call('GET', `${place.app}/tables/todos`))).columns).toHaveLength(5);

    await page.getByRole('button', { name: 'Insert row' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('title').fill('Buy milk');
    await form.getByRole('textbox', { name: 'n', exact: true }).fill('9223372036854775807');
    await form.getByRole('button', { name: 'Insert row' }).click();
    await form.waitFor({ state: 'hidden' });
    await grid(page).getByText('9223372036854775807').waitFor();

    await cell(page, 0, 2).focus();
    await page.keyboard.press('Enter');
    const editor = page.getByRole('dialog', { name: /^Edit title/ });
    await editor.getByRole('textbox').fill('Buy oats');
    await page.keyboard.press('Enter');
    await editor.waitFor({ state: 'hidden' });
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('F2');
    await page
      .getByRole('dialog', { name: /^Edit n/ })
      .getByRole('textbox')
      .fill('9223372036854775806');
    await page.keyboard.press('Enter');
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Review 2 changes' }).click();
    const review = page.getByRole('dialog');
    await review.getByText('Buy milk').waitFor();
    expect((await rowsOf('todos'))[0].title).toBe('Buy milk');
    expect(await violationsOf(page)).toEqual([]);
    await review.getByRole('button', { name: 'Save 2 changes' }).click();
    await review.waitFor({ state: 'hidden' });
    expect((await rowsOf('todos'))[0]).toMatchObject({ title: 'Buy oats', n: '9223372036854775806' });
    await page.getByText('not saved', { exact: false }).waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('rows are filtered and sorted by the URL, and the back button works', async () => {
    await newTable('lists', [
      { title: 'apple', n: 1 },
      { title: 'banana', n: 2 },
      { title: 'apricot', n: 3 },
    ]);
    const page = await open('/tables/lists?sort=title');
    expect(await titlesOf(page)).toEqual(['apple', 'apricot', 'banana']);
    await page.getByRole('button', { name: 'Filter' }).click();
    const line = page.getByRole('group', { name: 'Condition 1' });
    await line.getByLabel('Column').selectOption('title');
    await line.getByLabel('Operator').selectOption('isw');
    await line.getByLabel('Value').fill('AP');
    await page.getByRole('button', { name: 'Apply filter' }).click();
    await until('two rows are shown', async () => (await titlesOf(page)).length === 2);
    expect(page.url()).toContain('filter=title%3Disw.AP');
    await page.getByRole('button', { name: /^title/ }).click();
    await until('they are sorted down', async () => (await titlesOf(page))[0] === 'apricot');
    expect(await page.getByRole('columnheader', { name: /title/ }).getAttribute('aria-sort')).toBe(
      'descending',
    );
    await page.goBack();
    await until('they are sorted up again', async () => (await titlesOf(page))[0] === 'apple');
    await page.goBack();
    await until('all rows are shown again', async () => (await titlesOf(page)).length === 3);
    await page.close();
  });

  const titlesOf = async (page: Page) => {
    const at = await grid(page).locator('thead th').allTextContents();
    const column = at.findIndex((text) => text.startsWith('title'));
    return grid(page)
      .locator(`tbody tr td:nth-child(${column + 1})`)
      .allTextContents();
  };

  test('all rows that match the filter are changed and deleted after a preview', async () => {
    await newTable('marks', [
      { title: 'a', n: 1 },
      { title: 'b', n: 2 },
      { title: 'c', n: 3 },
    ]);
    const page = await open('/tables/marks?filter=n%3Dgt.1');
    const complaints = complaintsOf(page);
    await page.getByRole('button', { name: 'Change matching' }).click();
    const dialog = page.getByRole('dialog', { name: /^Change matching rows/ });
    await dialog.getByText('n is greater than 1').waitFor();
    await dialog.getByLabel('New value').fill('late');
    expect(await violationsOf(page)).toEqual([]);
    await dialog.getByLabel('At most').fill('1');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByText('More than 1 rows match', { exact: false }).waitFor();
    await dialog.getByLabel('At most').fill('5');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await confirmed(page, 'Change');
    await grid(page).getByText('late').first().waitFor();
    expect((await rowsOf('marks', '?sort=n')).map(({ title }) => title)).toEqual(['a', 'late', 'late']);
    await page.getByRole('button', { name: 'Change matching' }).click();
    await dialog.getByLabel('Change', { exact: true }).selectOption('Delete the rows');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    const plan = page.getByRole('dialog', { name: /^Delete rows/ });
    await plan.getByRole('textbox').fill('shop/marks');
    await plan.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('No row matches', { exact: true }).waitFor();
    expect((await rowsOf('marks')).map(({ title }) => title)).toEqual(['a']);
    // The refused preview is logged by the browser.
    expect(complaints.filter((text) => !text.includes('409'))).toEqual([]);
  });

  test('rows are grouped, summed up and drawn, and a misspelt operator is pointed out', async () => {
    await newTable('sums', [
      { title: 'a', n: 1 },
      { title: 'a', n: 2 },
      { title: 'b', n: '9007199254740993' },
    ]);
    const page = await open('/tables/sums');
    const complaints = complaintsOf(page);
    await page.getByLabel('Group by').selectOption('title');
    const groups = page.getByRole('table', { name: 'Groups of sums' });
    await groups.getByRole('row', { name: /^a 2/ }).waitFor();
    await page.getByLabel('Value of each group').selectOption('n.sum()');
    await groups.getByRole('row', { name: /^b 9007199254740993/ }).waitFor();
    await groups.getByRole('row', { name: /^All rows 9007199254740996/ }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.goto(`${page.url().split('?')[0]}?filter=title%3Deqq.a`);
    await page.getByText('title: "eqq." is not an operator').waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('a concurrent change is shown and not overwritten', async () => {
    await newTable('shared', [{ title: 'mine', n: 1 }]);
    const page = await open('/tables/shared');
    await cell(page, 0, 2).dblclick();
    await page
      .getByRole('dialog', { name: /^Edit title/ })
      .getByRole('textbox')
      .fill('my title');
    await page.keyboard.press('Enter');
    const [row] = await rowsOf('shared');
    await done(coOwner.call('PATCH', `${place.data}/shared/${row.id}`, { title: 'their title', n: 5 }));
    await page.getByRole('button', { name: 'Review 1 change' }).click();
    const review = page.getByRole('dialog');
    await review.getByRole('button', { name: 'Save 1 change' }).click();
    await review.getByText('Somebody else has changed this row').waitFor();
    await review.getByText('their title').waitFor();
    expect((await rowsOf('shared'))[0].title).toBe('their title');
    expect(await violationsOf(page)).toEqual([]);
    await review.getByRole('button', { name: 'Save mine' }).click();
    await review.waitFor({ state: 'hidden' });
    expect((await rowsOf('shared'))[0]).toMatchObject({ title: 'my title', n: 5 });
    await page.waitForFunction(() => document.activeElement?.closest('table')?.role === 'grid');

    await grid(page).getByText('my title').waitFor();
    await cell(page, 0, 0).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Delete 1 row' }).click();
    await done(coOwner.call('PATCH', `${place.data}/shared/${row.id}`, { n: 6 }));
    await review.getByRole('button', { name: 'Delete 1 row' }).click();
    await review.getByText('1 row was changed by somebody else').waitFor();
    expect(await rowsOf('shared')).toHaveLength(1);
    await review.getByText('n: 6').waitFor();
    await review.getByRole('button', { name: 'Delete 1 row' }).click();
    await review.waitFor({ state: 'hidden' });
    expect(await rowsOf('shared')).toEqual([]);
    await page.close();
  });

  test('lines are imported after their errors are shown, exported again, and rows deleted', async () => {
    await newTable('files');
    const page = await open('/tables/files');
    await page.getByRole('button', { name: 'Import' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Paste rows').fill('title,n,extra\na,1,\nb,oops,"{""x"":1}"\n"=c",3,\n');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByText(/must be a whole number/).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Import' }).click();
    await dialog.getByText('Some lines were rejected').waitFor();
    expect(await rowsOf('files')).toEqual([]);
    await dialog.getByRole('button', { name: 'Choose another' }).click();
    await dialog.getByLabel('Paste rows').fill('title,n,extra\na,1,\nb,2,"{""x"":1}"\n"=c",3,\n');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByRole('button', { name: 'Import' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect((await rowsOf('files')).map(({ title, n, extra }) => [title, n, extra])).toEqual([
      ['=c', 3, null],
      ['a', 1, null],
      ['b', 2, { x: 1 }],
    ]);

    await page.goto(`${place.console}/tables/files?sort=title&select=title,n`);
    await page.getByRole('button', { name: 'Export' }).click();
    await dialog.getByLabel('Visible columns').check();
    await dialog.getByLabel('Escape formulas for spreadsheets').check();
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Export' }).click();
    expect(readFileSync(await (await download).path(), 'utf8')).toBe("title,n\r\n'=c,3\r\na,1\r\nb,2\r\n");

    await cell(page, 0, 0).getByRole('checkbox').check();
    await cell(page, 2, 1).focus();
    await page.keyboard.press(' ');
    await page.getByRole('button', { name: 'Delete 2 rows' }).click();
    await dialog.getByRole('button', { name: 'Delete 2 rows' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect((await rowsOf('files')).map(({ title }) => title)).toEqual(['a']);
    await page.close();
  });

  test('schema and grants are changed after a preview, and impossible changes are disabled with the reason', async () => {
    await newTable('shape', [{ title: 'x' }]);
    const page = await open('/tables/shape?view=schema');
    const keptId = page.getByRole('button', { name: 'Drop column id' });
    expect(await keptId.getAttribute('aria-disabled')).toBe('true');
    expect(await reasonOf(keptId)).toContain('Every row needs id.');
    await page.getByRole('button', { name: 'Edit column title' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('heading');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await confirmed(page, 'Update column');
    await page.getByRole('button', { name: 'Edit column heading' }).waitFor();
    await page.getByRole('button', { name: 'Drop column extra' }).click();
    const drop = page.getByRole('dialog').filter({ hasText: 'cannot be undone' });
    expect(await drop.getByRole('button', { name: 'Drop column' }).isDisabled()).toBe(true);
    await drop.getByLabel(/to confirm/).fill('shape');
    await confirmed(page, 'Drop column');

    await page.getByText('Access', { exact: true }).click();
    await page.getByRole('button', { name: 'Grant access' }).click();
    await dialog.getByText('Role', { exact: true }).click();
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await confirmed(page, 'Issue grant');
    await page.getByRole('table', { name: 'Table grants' }).getByText('all members of the tenant').waitFor();
    const { items } = await done(owner.call('GET', `${place.app}/tables/shape/grants`));
    expect(items).toMatchObject([{ principal_id: 'tenant_member', actions: ['read'] }]);
    const { columns } = await done(owner.call('GET', `${place.app}/tables/shape`));
    expect(columns.map(({ name }: { name: string }) => name)).toEqual([
      'id',
      'heading',
      'n',
      'done',
      'created_at',
      'updated_at',
    ]);
    await page.close();
  });

  test('a signed-out person keeps their input, and is asked before it is lost', async () => {
    await newTable('kept', [{ title: 'old' }]);
    const page = await open('/tables/kept');
    await cell(page, 0, 2).dblclick();
    await page
      .getByRole('dialog', { name: /^Edit title/ })
      .getByRole('textbox')
      .fill('new');
    await page.keyboard.press('Enter');
    await page.getByText('1 change not saved').waitFor();
    const cookies = await browser.cookies();
    await browser.clearCookies();
    await page.getByRole('button', { name: /^title/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    const signIn = dialog.getByRole('link', { name: 'Sign in' });
    expect([await signIn.getAttribute('href'), await signIn.getAttribute('target')]).toEqual([
      '/login',
      '_blank',
    ]);
    expect(await violationsOf(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'I have signed in' }).click();
    await dialog.getByText('Nobody is signed in yet.').waitFor();
    await browser.addCookies(cookies);
    await dialog.getByRole('button', { name: 'I have signed in' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByText('1 change not saved').waitFor();

    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByText('1 change not saved').waitFor({ state: 'detached' });
    const asked = page.waitForEvent('dialog');
    const reloaded = page.reload();
    const question = await asked;
    expect(question.type()).toBe('beforeunload');
    await question.accept();
    await reloaded;
    await page.close();
  });

  test('a co-owner who is removed sees the page of an unknown app', async () => {
    await newTable('secret', [{ title: 'for owners' }]);
    const theirs = await browserOf(server, coOwner);
    const page = await open('/tables/secret', theirs);
    await grid(page).getByText('for owners').waitFor();
    await done(owner.call('DELETE', `${place.app}/co-owners/${coOwner.id}`));
    await page.getByRole('button', { name: /^title/ }).click();
    await page.getByText('Page not found').waitFor();
    await page.reload();
    await page.getByText('Page not found').waitFor();
    expect(await page.getByText('for owners').count()).toBe(0);
    await theirs.close();
  });
});
