import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import { browserOf, complaintsOf, violationsOf, waitUntilLoaded } from './support/console/browsing.ts';
import { newConsoleTenant, type Visitor } from './support/console/world.ts';
import { done, newApp } from './support/people.ts';
import { insertLines } from './support/rows.ts';
import { startEmbedded } from './support/server.ts';

describe.if(hasChromium)('the summary row of a grid', () => {
  let owner: Visitor;
  let browser: BrowserContext;
  let table: string;

  beforeAll(async () => {
    const server = await startEmbedded();
    const tenant = await newConsoleTenant(server, 'Sums');
    owner = tenant.member;
    const app = await newApp(tenant, { owner }, { name: 'Shop' });
    const data = `/data/${tenant.slug}/${app.slug}`;
    table = `${server.baseUrl}/t/${tenant.slug}/apps/${app.slug}/tables/sales`;
    const tables = {
      customers: { columns: ['name:text'] },
      sales: {
        columns: [
          'region:text:nullable',
          'amount:decimal(12,2):nullable',
          'day:date',
          'sold_at:timestamptz',
          'customer:ref:customers:nullable',
        ],
      },
    };
    await done(owner.call('POST', `${app.base}/schema`, { tables }));
    const { id: customer } = await done(owner.call('POST', `${data}/customers`, { name: 'Ada' }));
    const sales = Array.from({ length: 60 }, (_, at) => ({
      region: at < 20 ? 'eu' : at < 50 ? 'us' : null,
      amount: at === 0 ? null : `${at}.50`,
      day: `2026-0${1 + (at % 3)}-15`,
      sold_at: new Date(2026, at % 3, 1).toISOString(),
      customer: at % 2 === 0 ? customer : null,
    }));
    await insertLines(owner, `${data}/sales`, sales);
    browser = await browserOf(server, owner);
  });
  afterAll(() => browser?.close());

  async function open(search = ''): Promise<Page> {
    const page = await browser.newPage();
    page.setDefaultTimeout(20_000);
    await page.goto(table + search);
    await waitUntilLoaded(page);
    return page;
  }
  const foot = (page: Page) => page.getByRole('grid').locator('tfoot');
  const summary = (page: Page, column: string) =>
    foot(page).getByRole('button', { name: new RegExp(`, summary of ${column}$`) });
  const choice = (page: Page, column: string, name: string) =>
    page.getByRole('dialog', { name: `Summary of ${column}` }).getByRole('button', { name, exact: true });
  async function choose(page: Page, column: string, name: string): Promise<void> {
    await foot(page)
      .getByRole('button', { name: `Summarize ${column}` })
      .click();
    await choice(page, column, name).click();
  }

  test('counts all rows, and has a chosen aggregate of each column', async () => {
    const page = await open('?per_page=25');
    const complaints = complaintsOf(page);
    await foot(page).getByRole('rowheader', { name: '60 rows' }).waitFor();
    await choose(page, 'amount', 'Sum');
    await summary(page, 'amount').getByText('1799.50').waitFor();
    await choose(page, 'day', 'Maximum');
    await summary(page, 'day').getByText('2026-03-15').waitFor();
    await choose(page, 'region', 'Different');
    await summary(page, 'region').getByText('Different 2').waitFor();
    expect(new URL(page.url()).searchParams.get('summary')).toBe('amount.sum,day.max,region.count_distinct');
    expect(await violationsOf(page)).toEqual([]);
    await page.reload();
    await summary(page, 'amount').getByText('Sum 1799.50').waitFor();
    await summary(page, 'amount').click();
    expect(await violationsOf(page)).toEqual([]);
    await choice(page, 'amount', 'Average').click();
    await summary(page, 'amount').getByText('Average 30.5').waitFor();
    await summary(page, 'amount').click();
    await choice(page, 'amount', 'No summary').click();
    await foot(page).getByRole('button', { name: 'Summarize amount' }).waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('has the filters of the grid, and says why it has none of related rows', async () => {
    const page = await open('?summary=amount.sum,region.count&filter=region%3Deq.eu');
    const complaints = complaintsOf(page);
    await foot(page).getByRole('rowheader', { name: '20 rows' }).waitFor();
    await summary(page, 'amount').getByText('Sum 199.50').waitFor();
    await page.getByRole('button', { name: 'Remove filter: region is eu' }).click();
    await foot(page).getByRole('rowheader', { name: '60 rows' }).waitFor();
    await summary(page, 'region').getByText('Filled 50').waitFor();
    await page.goto(`${table}?summary=amount.sum&filter=customer.name%3Deq.Ada`);
    await foot(page).getByRole('rowheader', { name: '30 rows' }).waitFor();
    expect(await summary(page, 'amount').getAttribute('title')).toContain(
      'Remove the filter on customer.name',
    );
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('is reached and changed with the keyboard', async () => {
    const page = await open('?per_page=25&select=region,amount');
    await page.getByRole('grid').locator('tbody tr').last().locator('td').nth(2).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await choice(page, 'amount', 'Sum').waitFor();
    await page.waitForFunction(() => document.activeElement?.closest('[role=dialog]') !== null);
    await page.keyboard.press('Enter');
    await summary(page, 'amount').getByText('Sum 1799.50').waitFor();
    await page.waitForFunction(() => document.activeElement?.closest('tfoot') !== null);
    await page.keyboard.press('ArrowUp');
    await page.waitForFunction(() => document.activeElement?.closest('tbody') !== null);
    await page.close();
  });

  test('has links from groups to their rows', async () => {
    const page = await open();
    const complaints = complaintsOf(page);
    const groups = page.getByRole('table', { name: 'Groups of sales' });
    for (const [group, name, rows] of [
      ['region', 'eu', 20],
      ['region', 'null', 10],
      ['customer', 'Ada', 30],
      ['day.month', '2026-02-01', 20],
      ['sold_at.quarter', '2026-01-01', 60],
      ['sold_at.month', '2026-03-01', 20],
    ] as const) {
      await page.goto(`${table}?group=${group}`);
      await groups.getByRole('link', { name }).click();
      await foot(page)
        .getByRole('rowheader', { name: `${rows} rows` })
        .waitFor();
    }
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.close();
  });
});
