import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { BrowserContext } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import { browserOf, complaintsOf, violationsOf, waitUntilLoaded } from './support/console/browsing.ts';
import { type ConsoleTenant, newConsoleTenant, type Visitor } from './support/console/world.ts';
import { done } from './support/people.ts';
import { sharedEmbedded } from './support/server.ts';
import { until } from './support/until.ts';
import {
  addWarehouse,
  hasMariaDb,
  salesOrders,
  startWarehouse,
  type Warehouse,
  type WarehouseTenant,
} from './support/warehouses.ts';

describe.if(hasChromium && hasMariaDb)('the rows of a warehouse in the console', () => {
  let warehouse: Warehouse;
  let opened: WarehouseTenant<ConsoleTenant>;
  const browsers: BrowserContext[] = [];

  beforeAll(async () => {
    warehouse = await startWarehouse('mysql');
    await warehouse.query(`${salesOrders}; create table sales.short (id int primary key, word varchar(20));
      insert into sales.short values (1, 'first'), (2, 'second')`);
    opened = await addWarehouse(warehouse, await newConsoleTenant(await sharedEmbedded(), 'Fabrikam'));
  });
  afterAll(async () => {
    for (const browser of browsers) await browser.close();
    await warehouse?.stop();
  });

  async function show(person: Visitor, at: string) {
    const browser = await browserOf(opened.t.server, person);
    browsers.push(browser);
    const page = await browser.newPage();
    const complaints = complaintsOf(page);
    await page.goto(`${opened.t.server.baseUrl}/t/${opened.t.slug}/${at}`);
    await waitUntilLoaded(page);
    return { page, complaints };
  }

  test('are browsed with masks, and each read is in the access log without its values', async () => {
    const { t, policy, grant } = opened;
    const europe = await policy({
      name: 'Europe',
      row_filter: 'region=eq.eu',
      columns: { mode: 'deny', names: ['total'] },
      masks: [{ column: 'email', kind: 'email' }],
    });
    await grant(t.member, { policy_ids: [europe] });
    const { page, complaints } = await show(t.member, 'grants');
    const row = page.getByRole('table', { name: 'Tables' }).getByRole('row', { name: 'sales/orders' });
    await row.getByText('email', { exact: true }).waitFor();
    await row.getByText('never', { exact: true }).waitFor();
    await row.getByRole('link', { name: 'Open sales/orders' }).click();
    const grid = page.getByRole('table', { name: 'Rows of sales/orders' });
    await grid.getByRole('cell', { name: 'a•••@example.com' }).waitFor();
    expect(await grid.getByRole('row').count()).toBe(3);
    const text = await grid.innerText();
    for (const hidden of ['total', 'Zoe', 'ada@example.com']) expect(text).not.toContain(hidden);
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);

    const log = `${t.base}/access/log?connector=warehouse&user=${t.member.id}`;
    await until('the read is recorded', async () => (await done(t.admin.call('GET', log))).items.length > 0);
    const { page: read, complaints: complaintsOfLog } = await show(t.admin, 'access-log?connector=warehouse');
    const reads = read.getByRole('table', { name: 'Reads' });
    const entry = reads.getByRole('row', { name: t.member.email }).first();
    await entry.getByText('sales/orders', { exact: true }).waitFor();
    await entry.getByText('email (masked)').waitFor();
    expect(await reads.innerText()).not.toMatch(/Ada|•••/);
    await read.getByLabel('Path').fill('sales/nothing');
    await read.getByText('No entries', { exact: true }).waitFor();
    await read.getByLabel('Path').fill('sales/orders');
    await entry.waitFor();
    expect(await violationsOf(read)).toEqual([]);
    expect(complaintsOfLog).toEqual([]);
  });

  test('end with the grant while the page is open', async () => {
    const { t, grant } = opened;
    const expires = Date.now() + 30_000;
    await grant(t.member, {
      scope_resource_paths: ['sales/short'],
      expires_at: new Date(expires).toISOString(),
    });
    const { page, complaints } = await show(t.member, 'data/warehouse/sales/short');
    const grid = page.getByRole('table', { name: 'Rows of sales/short' });
    await grid.getByRole('cell', { name: 'second' }).waitFor();
    expect(Date.now()).toBeLessThan(expires);
    await page
      .getByRole('heading', { name: 'You have no access to this table' })
      .waitFor({ timeout: 120_000 });
    expect(Date.now()).toBeGreaterThanOrEqual(expires);
    expect(await grid.count()).toBe(0);
    await page.getByRole('link', { name: 'Request access' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
