import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page, Response } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import { svcFor } from './support/commands.ts';
import { browserOf, complaintsOf, violationsOf, waitUntilLoaded } from './support/console/browsing.ts';
import { type ConsoleTenant, newConsoleTenant, newVisitor, type Visitor } from './support/console/world.ts';
import { openServerDatabase } from './support/database.ts';
import { done } from './support/people.ts';
import { hasPostgres15 } from './support/postgres15.ts';
import { root, sharedEmbedded, temporaryFolder } from './support/server.ts';
import { until } from './support/until.ts';
import {
  addWarehouse,
  salesOrders,
  startWarehouse,
  type Warehouse,
  type WarehouseTenant,
} from './support/warehouses.ts';

describe.if(hasChromium && hasPostgres15)('an app that shows a table of a warehouse, in a browser', () => {
  const scope = 'warehouse/sales/orders:read';
  const path = 'sales/orders';
  let warehouse: Warehouse;
  let opened: WarehouseTenant<ConsoleTenant>;
  let app: { id: string; slug: string; subdomain: string };
  let address: string;
  const browsers: BrowserContext[] = [];

  beforeAll(async () => {
    warehouse = await startWarehouse('postgres');
    await warehouse.query(salesOrders);
    const server = await sharedEmbedded();
    opened = await addWarehouse(warehouse, await newConsoleTenant(server, 'Sales'));
    const { t } = opened;
    const body = { name: 'Orders', deploy_method: 'static' };
    app = await done(t.member.call('POST', `${t.base}/apps`, body));
    address = `http://${app.subdomain}.apps.localhost:${server.port}/`;
  });
  afterAll(async () => {
    for (const browser of browsers) await browser.close();
    await warehouse?.stop();
  });

  async function signedIn(person: Visitor): Promise<BrowserContext> {
    const browser = await browserOf(opened.t.server, person);
    browsers.push(browser);
    return browser;
  }
  async function show(browser: BrowserContext, at: string) {
    const page = await browser.newPage();
    const complaints = complaintsOf(page);
    await page.goto(at.startsWith('http') ? at : `${opened.t.server.baseUrl}/t/${opened.t.slug}/${at}`);
    await waitUntilLoaded(page);
    return { page, complaints };
  }
  async function confirm(page: Page, title: string, verb: string): Promise<void> {
    const dialog = page.getByRole('dialog', { name: title });
    await dialog.getByRole('button', { name: verb, exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
  }
  // Not `innerText`, which has no tabs for rows that are being replaced.
  const ordersOf = (page: Page) =>
    page
      .locator('tbody tr')
      .evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent).join('\t')),
      );

  test('svc.yaml requests the scope, and the review shows and approves it', async () => {
    const { t } = opened;
    const folder = join(temporaryFolder(), 'orders');
    cpSync(join(root, 'acceptance', 'samples', 'orders'), folder, { recursive: true });
    const file = join(folder, 'site', 'index.html');
    const settings = { baseUrl: t.server.baseUrl, tenant: t.slug, app: app.slug, appId: app.id };
    const html = readFileSync(file, 'utf8');
    writeFileSync(file, html.replace(/(type="application\/json">).*?(<)/, `$1${JSON.stringify(settings)}$2`));
    const svc = svcFor(t.server, { token: t.member.token, tenant: t.slug });
    const deployed = await svc(['deploy', '--app', app.slug, '--from-dir', folder, '--execute', '--json']);
    expect([deployed.code, deployed.json<{ state: string }>().state]).toEqual([0, 'live']);
    expect(await done(t.member.call('GET', `${t.base}/apps/${app.id}`))).toMatchObject({
      data_scopes: [scope],
      approved_data_scopes: [],
    });
    const line = ['publish', '--app', app.slug, '--visibility', 'public', '--execute', '--json'];
    const { id } = (await svc(line)).json<{ id: string }>();
    const { page, complaints } = await show(await signedIn(t.admin), `reviews/${id}`);
    await page.getByRole('row', { name: `New data scopes ${scope}` }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Approve' }).click();
    await confirm(page, 'Approve the request', 'Approve');
    await until(
      'the scope is approved',
      async () =>
        (await done(t.member.call('GET', `${t.base}/apps/${app.id}`))).approved_data_scopes.length === 1,
    );
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('a visitor without a grant requests it from the app, sees the rows for a time, and no more after it', async () => {
    const { t, policy, grant } = opened;
    const [max, eve] = [t.outsider, await newVisitor(t.server, t.slug, 'Eve European')];
    const europe = await policy({
      row_filter: 'region=eq.eu',
      columns: { mode: 'deny', names: ['total'] },
      masks: [{ column: 'email', kind: 'email' }],
    });
    await grant(eve, { policy_ids: [europe] });
    const [ofMax, ofEve] = [await signedIn(max), await signedIn(eve)];
    const { page: limited } = await show(ofEve, address);
    await limited.getByText(`2 orders for ${eve.email}`).waitFor();
    expect(await ordersOf(limited)).toEqual(['1\teu\tAda\ta•••@example.com', '2\teu\tBob\tb•••@example.com']);

    const { page } = await show(ofMax, address);
    await page.getByText('No orders: grant_missing').waitFor();
    const link = await page.getByRole('link', { name: 'Request access' }).getAttribute('href');
    const { page: form, complaints } = await show(ofMax, link!);
    expect(await form.getByRole('combobox', { name: /^Connector/ }).inputValue()).toBe('Warehouse');
    await form.getByText(path, { exact: true }).waitFor();
    expect(await form.getByLabel('Hours').inputValue()).toBe('8');
    expect(await form.getByLabel('Reason').inputValue()).toBe('For the app Orders');
    await form.getByRole('button', { name: 'Request access' }).click();
    await confirm(form, 'Request access', 'Request');
    await form.getByRole('heading', { name: 'Access to Warehouse' }).waitFor();
    const { items } = await done(t.admin.call('GET', `${t.base}/grant-requests?view=to_decide`));
    const approve = `${t.base}/grant-requests/${items[0].id}/approve`;
    const { grant_id } = await done(t.admin.call('POST', approve));
    // The page of the app is still the same one.
    await page.getByText(`3 orders for ${max.email}`).waitFor();
    expect((await ordersOf(page))[2]).toBe('3\tus\tZoe\tzoe@example.com\t1000');

    await form.goto(`${t.server.baseUrl}/t/${t.slug}/grants`);
    await waitUntilLoaded(form);
    const row = form.getByRole('table', { name: 'Tables' }).getByRole('row', { name: path });
    await row.getByText(/in (7|8) hours/).waitFor();
    expect(await violationsOf(form)).toEqual([]);
    await row.getByRole('link', { name: `Open ${path}` }).click();
    const grid = form.getByRole('table', { name: `Rows of ${path}` });
    await grid.getByRole('cell', { name: 'zoe@example.com' }).waitFor();
    await grid.getByRole('button', { name: /^total/ }).click();
    await grid.getByRole('button', { name: /^total/ }).click();
    await until('the rows are sorted', async () =>
      (await grid.getByRole('row').nth(1).innerText()).includes('Zoe'),
    );
    await form.getByRole('button', { name: 'Filter' }).click();
    await form.getByLabel('Value').fill('eu');
    await form.getByRole('button', { name: 'Apply filter' }).click();
    await grid.getByRole('cell', { name: 'zoe@example.com' }).waitFor({ state: 'detached' });
    expect(await grid.getByRole('row').count()).toBe(3);
    expect(await violationsOf(form)).toEqual([]);

    const ends = Date.now() + 3_000;
    const database = openServerDatabase(t.server);
    const times = [new Date(ends).toISOString(), grant_id];
    await database.query('update svc.grants set expires_at = $1 where id = $2', times);
    await database.close();
    // Servers learn of the new end by any change of what is governed.
    await policy({ name: 'Another' });
    const gone = Math.max(ends, Date.now());
    const late: string[] = [];
    // A request counts from when it was sent: on a busy machine its answer may arrive much later.
    const isLate = (answer: Response) =>
      answer.url().includes(`/${path}`) && answer.request().timing().startTime > gone + 1_000;
    page.on('response', (answer) => {
      if (answer.ok() && isLate(answer)) late.push(answer.url());
    });
    await page.getByText('No orders: grant_missing').waitFor();
    expect(Date.now()).toBeGreaterThanOrEqual(ends);
    await page.waitForResponse(isLate);
    expect(late).toEqual([]);
    expect(await ordersOf(page)).toEqual([]);
    await form.reload();
    await form.getByRole('heading', { name: 'You have no access to this table' }).waitFor();
    await form.getByRole('link', { name: 'Request access' }).click();
    await form.getByText(path, { exact: true }).waitFor();
    expect(await form.getByRole('combobox', { name: /^Connector/ }).inputValue()).toBe('Warehouse');
    expect(complaints).toEqual([]);
  });
});
