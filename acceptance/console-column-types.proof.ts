import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import { browserOf, complaintsOf, violationsOf, waitUntilLoaded } from './support/console/browsing.ts';
import { newConsoleTenant, type Visitor } from './support/console/world.ts';
import { done, newApp } from './support/people.ts';
import { startEmbedded } from './support/server.ts';

describe.if(hasChromium)('types and checks of columns in the console', () => {
  let owner: Visitor;
  let browser: BrowserContext;
  let place: { console: string; app: string; data: string };

  beforeAll(async () => {
    const server = await startEmbedded();
    const tenant = await newConsoleTenant(server, 'Types');
    owner = tenant.member;
    const app = await newApp(tenant, { owner }, { name: 'Shop' });
    place = {
      console: `${server.baseUrl}/t/${tenant.slug}/apps/${app.slug}`,
      app: app.base,
      data: `/data/${tenant.slug}/${app.slug}`,
    };
    browser = await browserOf(server, owner);
  });
  afterAll(() => browser?.close());

  async function confirmed(page: Page, verb: string): Promise<void> {
    const dialog = page.getByRole('dialog').filter({ hasText: 'the following changes will be made' });
    await dialog.getByRole('button', { name: verb, exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
  }

  test('a table is created with them, values are chosen and checked in forms, and a column is changed', async () => {
    const page = await browser.newPage();
    await page.goto(`${place.console}/tables`);
    await waitUntilLoaded(page);
    const complaints = complaintsOf(page);
    await page.getByRole('button', { name: 'New table' }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).first().fill('orders');
    const first = page.getByRole('group', { name: 'Column 1' });
    await first.getByLabel('Name').fill('state');
    await first.getByLabel('Type').selectOption('enum');
    await first.getByLabel('Values').fill('open,,paid');
    await page.getByRole('button', { name: 'Preview table' }).click();
    await first.getByText(/a value of an enum/).waitFor();
    await first.getByLabel('Values').fill('open,paid');
    await page.getByRole('button', { name: 'Add a column' }).click();
    const second = page.getByRole('group', { name: 'Column 2' });
    await second.getByLabel('Name').fill('amount');
    await second.getByLabel('Type').selectOption('decimal');
    await second.getByLabel('Digits').fill('12,2');
    await second.getByLabel('Minimum').fill('0');
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Preview table' }).click();
    await page.getByRole('dialog').getByText('amount:decimal(12,2,min=0.00)').first().waitFor();
    await confirmed(page, 'Create table');
    await page.getByText('No rows yet').waitFor();

    await page.getByRole('button', { name: 'Insert row' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('state').selectOption('paid');
    await form.getByLabel('amount').fill('-1');
    await form.getByRole('button', { name: 'Insert row' }).click();
    await form.getByText(/at least 0.00/).waitFor();
    await form.getByLabel('amount').fill('12.5');
    await form.getByRole('button', { name: 'Insert row' }).click();
    await form.waitFor({ state: 'hidden' });
    await page.getByRole('grid').getByText('12.50').waitFor();
    const { data } = await done(owner.call('GET', `${place.data}/orders`));
    expect(data).toMatchObject([{ state: 'paid', amount: '12.50' }]);

    await page.getByText('Schema', { exact: true }).click();
    await page.getByRole('button', { name: 'Edit column state' }).click();
    await page.getByRole('dialog').getByLabel('Type').fill('enum(open,paid,lost)');
    await page.getByRole('dialog').getByRole('button', { name: 'Preview' }).click();
    await confirmed(page, 'Update column');
    await page.getByRole('button', { name: 'Edit column amount' }).click();
    await page.getByRole('dialog').getByLabel('Maximum').fill('100');
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Preview' }).click();
    await confirmed(page, 'Update column');
    await page
      .getByRole('table', { name: 'Columns' })
      .getByText('decimal(12,2,min=0.00,max=100.00)')
      .waitFor();
    const { columns } = await done(owner.call('GET', `${place.app}/tables/orders`));
    expect(columns).toMatchObject([
      { name: 'id' },
      { name: 'state', type: 'enum(open,paid,lost)' },
      { name: 'amount', checks: { min: '0.00', max: '100.00' } },
      { name: 'created_at' },
      { name: 'updated_at' },
    ]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('a reference is chosen in the form of the table, shown as a link and picked by name', async () => {
    const create = (name: string, columns: string[]) =>
      done(owner.call('POST', `${place.app}/tables`, { name, columns }));
    await create('authors', ['name:text']);
    for (const name of ['Ada', 'Bob']) await done(owner.call('POST', `${place.data}/authors`, { name }));
    const page = await browser.newPage();
    await page.goto(`${place.console}/tables?create`);
    await waitUntilLoaded(page);
    const complaints = complaintsOf(page);
    await page.getByRole('textbox', { name: 'Name', exact: true }).first().fill('books');
    const column = page.getByRole('group', { name: 'Column 1' });
    await column.getByLabel('Name').fill('author');
    await column.getByLabel('Type').selectOption('ref');
    await column.getByLabel('Table').selectOption('authors');
    await column.getByLabel('When its row is deleted').selectOption('cascade');
    await page.getByRole('button', { name: 'Preview table' }).click();
    await page.getByRole('dialog').getByText('author:ref:authors(on_delete=cascade)').first().waitFor();
    await confirmed(page, 'Create table');
    await page.getByText('No rows yet').waitFor();
    await page.getByRole('button', { name: 'Insert row' }).click();
    const form = page.getByRole('dialog');
    await form.getByRole('combobox', { name: 'author' }).click();
    await page.getByRole('option', { name: 'Bob' }).click();
    await form.getByRole('button', { name: 'Insert row' }).click();
    await form.waitFor({ state: 'hidden' });
    const link = page.getByRole('grid').getByRole('link', { name: 'Bob' });
    await link.waitFor();
    expect(await link.getAttribute('href')).toContain('/tables/authors?filter=id%3Deq.');
    expect(complaints).toEqual([]);
    await page.close();
  });
});
