import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import { browserOf, complaintsOf, violationsOf, waitUntilLoaded } from './support/console/browsing.ts';
import { newConsoleTenant, type Visitor } from './support/console/world.ts';
import { done, newApp } from './support/people.ts';
import { startEmbedded } from './support/server.ts';

describe.if(hasChromium)('rules of tables in the console', () => {
  let owner: Visitor;
  let browser: BrowserContext;
  let place: { console: string; app: string; data: string };

  beforeAll(async () => {
    const server = await startEmbedded();
    const tenant = await newConsoleTenant(server, 'Rules');
    ({ member: owner } = tenant);
    const app = await newApp(tenant, { owner }, { name: 'Lunch' });
    place = {
      console: `${server.baseUrl}/t/${tenant.slug}/apps/${app.slug}`,
      app: app.base,
      data: `/data/${tenant.slug}/${app.slug}`,
    };
    await done(
      owner.call('POST', `${app.base}/schema`, {
        tables: {
          menu: { columns: ['dish:text', 'cost:int:nullable'], access: 'read-write' },
          orders: { owner_column: 'person', columns: ['person:uuid', 'dish:text'] },
        },
      }),
    );
    browser = await browserOf(server, owner);
  });
  afterAll(() => browser?.close());

  async function open(path: string): Promise<Page> {
    const page = await browser.newPage();
    await page.goto(place.console + path);
    await waitUntilLoaded(page);
    return page;
  }
  const matrix = async (page: Page) =>
    page
      .getByRole('table', { name: 'Who may do what' })
      .locator('tbody tr')
      .evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent?.trim())),
      );

  test('a table that everybody can change is marked, and its rules are set with a live preview', async () => {
    const page = await open('/tables');
    const complaints = complaintsOf(page);
    const warning = 'every user of the app can change every row';
    await page.getByRole('row').filter({ hasText: 'menu' }).getByText(warning).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('row').filter({ hasText: 'menu' }).getByRole('link', { name: 'read-write' }).click();
    await page.getByRole('alert').filter({ hasText: warning }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect((await matrix(page))[0]!.slice(0, 5)).toEqual([
      'Everybody who may use the app',
      'yes',
      'yes',
      'yes',
      'yes',
    ]);
    await page.getByLabel('Start from a preset').selectOption('read-only');
    const rule = (name: string) => page.locator('input').and(page.getByLabel(name, { exact: true }));
    for (const name of ['Insert', 'Update', 'Delete']) {
      await rule(name).fill('role:manager');
      await page.keyboard.press('Enter');
    }
    await page.getByLabel('Add a rule for a column').selectOption('cost');
    expect(await matrix(page)).toEqual([
      ['Everybody who may use the app', 'yes', 'no', 'no', 'no', 'not cost'],
      ['With the role manager', 'yes', 'yes', 'yes', 'yes', 'not cost'],
      ['The app itself', 'yes', 'yes', 'yes', 'yes', 'not cost'],
      ['Owners of the app, in the console and the command line', 'yes', 'yes', 'yes', 'yes', 'all'],
    ]);
    await rule('Insert').fill('everybody');
    await page.keyboard.press('Enter');
    await page.getByText('The preview appears when every rule can be read.').waitFor();
    await rule('Insert').press('Backspace');
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Preview rules' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('the following changes will be made').waitFor();
    await dialog.getByRole('button', { name: 'Set rules', exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await done(owner.call('GET', `${place.app}/tables/menu/access`))).toMatchObject({
      read: ['any'],
      insert: ['app', 'role:manager'],
      delete: ['app', 'role:manager'],
      columns: { cost: { read: ['none'] } },
      open_to_changes: false,
    });
    expect(complaints).toEqual([]);
  });

  test('a person gets a role among the people of the app, and loses it', async () => {
    const page = await open('/people');
    const form = page.getByRole('form', { name: 'Give a role' });
    await form.getByLabel('Role').fill('manager');
    await form.getByLabel('E-mail address of the person').fill(owner.email);
    await form.getByRole('button', { name: 'Preview role' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Give role', exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
    const remove = page.getByRole('button', { name: /^Take the role manager from/ });
    await remove.waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await remove.click();
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('Nobody has a role yet.').waitFor();
  });

  test('the grid shows names in place of the ids of an owner column', async () => {
    await done(owner.call('POST', `${place.data}/orders`, { dish: 'soup', person: owner.id }));
    const stranger = Bun.randomUUIDv7();
    await done(owner.call('POST', `${place.data}/orders`, { dish: 'tea', person: stranger }));
    const page = await open('/tables/orders');
    const { data } = await done(owner.call('GET', `${place.data}/_people?ids=${owner.id}`));
    const grid = page.getByRole('grid');
    await grid.locator('td', { hasText: data[0].name }).first().waitFor();
    expect(await grid.getByText(owner.id).count()).toBe(0);
    await grid.getByText(stranger).waitFor();
  });
});
