import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { BrowserContext } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import { browserOf, complaintsOf, violationsOf, waitUntilLoaded } from './support/console/browsing.ts';
import { newConsoleTenant, type Visitor } from './support/console/world.ts';
import { done } from './support/people.ts';
import { type RunningServer, sharedEmbedded } from './support/server.ts';

describe.if(hasChromium)('View as', () => {
  let server: RunningServer;
  let slug: string;
  let base: string;
  let ada: Visitor;
  let olga: Visitor;
  let browser: BrowserContext;
  beforeAll(async () => {
    server = await sharedEmbedded();
    ({ slug, base, admin: ada, member: olga } = await newConsoleTenant(server, 'Fabrikam'));
    browser = await browserOf(server, ada);
    await done(ada.call('POST', `${base}/apps`, { name: 'Shop', slug: 'shop' }));
    const columns = ['region:text', 'email:text'];
    await done(ada.call('POST', `${base}/apps/shop/tables`, { name: 'orders', columns }));
    for (const region of ['eu', 'us'])
      await done(ada.call('POST', `/data/${slug}/shop/orders`, { region, email: `${region}@example.com` }));
    const connector = { name: 'warehouse', kind: 'tables', app: 'shop' };
    const { id } = await done(ada.call('POST', `${base}/connectors`, connector));
    const policy = {
      name: 'Europe',
      row_filter: 'region=eq.eu',
      masks: [{ column: 'email', kind: 'email' }],
    };
    const { id: policyId } = await done(ada.call('POST', `${base}/access-policies`, policy));
    for (const [subject_id, policy_ids] of [
      [ada.id, []],
      [olga.id, [policyId]],
    ])
      await done(
        ada.call('POST', `${base}/grants`, { subject_id, connector_id: id, preset_id: 'reader', policy_ids }),
      );
  });
  afterAll(() => browser?.close());

  test('on a connector shows the rows and columns of a member, with the policies', async () => {
    const page = await browser.newPage();
    const complaints = complaintsOf(page);
    const query = `?person=${olga.id}&path=shop/orders`;
    await page.goto(`${server.baseUrl}/t/${slug}/admin/connectors/warehouse${query}`);
    await waitUntilLoaded(page);
    await page.getByText(`${olga.email} sees 1 of 2 rows of warehouse/shop/orders`).waitFor();
    await page
      .getByText('shown shortened (such as a•••@example.com) by the policy “Europe”', { exact: true })
      .waitFor();
    await page.getByText('e•••@example.com').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('on a table of an app says why a person sees nothing', async () => {
    const page = await browser.newPage();
    await page.goto(`${server.baseUrl}/t/${slug}/apps/shop/tables/orders?view=as`);
    await waitUntilLoaded(page);
    await page.getByRole('textbox', { name: 'Person' }).fill(olga.email);
    await page.getByRole('button', { name: 'View as', exact: true }).click();
    await page
      .getByText(`The app shop is private: only its owners can use it, and ${olga.email} is not one of them.`)
      .waitFor();
    await page.getByText('Outside the app', { exact: true }).click();
    // The grant of the connector opens the table there as well.
    await page.getByText(`${olga.email} sees 1 of 2 rows of shop/orders`).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.close();
  });

  test('the grid marks masks and leaves out hidden columns, and policies that do not fit are pointed out', async () => {
    const columns = ['email:text', 'secret:text'];
    await done(ada.call('POST', `${base}/apps/shop/tables`, { name: 'clients', columns }));
    await done(ada.call('POST', `/data/${slug}/shop/clients`, { email: 'ann@example.com', secret: 'hush' }));
    const create = async (name: string, fields: object) =>
      (
        await done(
          ada.call('POST', `${base}/access-policies`, {
            name,
            connector_id: 'warehouse',
            resource_path: 'shop/clients',
            ...fields,
          }),
        )
      ).id;
    const masks = [{ column: 'email', kind: 'email' }];
    await create('Discreet', { enforced: true, columns: { mode: 'deny', names: ['secret'] }, masks });
    const page = await browser.newPage();
    const complaints = complaintsOf(page);
    for (const path of ['apps/shop/tables/clients', 'data/warehouse/shop/clients']) {
      await page.goto(`${server.baseUrl}/t/${slug}/${path}`);
      await waitUntilLoaded(page);
      await page.getByText('a•••@example.com').waitFor();
      await page.getByRole('columnheader', { name: /email.*masked: email/ }).waitFor();
      expect(await page.getByRole('columnheader', { name: /secret/ }).count()).toBe(0);
      expect(await violationsOf(page)).toEqual([]);
    }
    const old = await create('Old', { row_filter: 'gone=eq.1' });
    const text = /The policy “Old” does not fit shop\/clients of warehouse, so nobody can read/;
    for (const [path, title] of [
      ['connectors/warehouse', 'Policies need attention'],
      [`policies/${old}`, 'This policy needs attention'],
    ]) {
      await page.goto(`${server.baseUrl}/t/${slug}/admin/${path}`);
      await waitUntilLoaded(page);
      await page.getByText(title!).waitFor();
      await page.getByText(text).waitFor();
      expect(await violationsOf(page)).toEqual([]);
    }
    expect(complaints).toEqual([]);
    await page.close();
  });
});
