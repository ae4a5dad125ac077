import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { BrowserContext } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import { browserOf } from './support/console/browsing.ts';
import { done, newPasswordUser, newTenant, type PasswordUser, type Tenant } from './support/people.ts';

describe.if(hasChromium)('the console after a failure', () => {
  let t: Tenant;
  let user: PasswordUser;
  let browser: BrowserContext;
  beforeAll(async () => {
    t = await newTenant();
    user = await newPasswordUser(t.server, t.id);
    browser = await browserOf(t.server, user);
  });
  afterAll(() => browser.close());
  const pageOf = (path: string) => `${t.server.baseUrl}/t/${t.slug}/${path}`;

  test('a page whose script fails to load leaves the other pages usable, and loads on retry', async () => {
    const page = await browser.newPage();
    await page.goto(pageOf('catalogue'));
    await page.getByRole('heading', { level: 1, name: 'Catalogue' }).waitFor();
    await page.route('**/assets/page-*.js', (route) => route.abort());
    // The page has reloaded itself a moment ago already.
    await page.evaluate(() => sessionStorage.setItem('svc.reloaded-at', String(Date.now())));
    await page.getByRole('link', { name: 'Sessions' }).click();
    await page.getByRole('alert').getByText('could not be loaded').waitFor();
    await page.getByRole('link', { name: 'Catalogue' }).click();
    await page.getByRole('heading', { level: 1, name: 'Catalogue' }).waitFor();
    await page.unroute('**/assets/page-*.js');
    await page.getByRole('link', { name: 'Sessions' }).click();
    await page.getByRole('button', { name: 'Reload the page' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor();
    await page.close();
  });

  test('stays open without a connection, shows that, and continues when the server is back', async () => {
    const page = await browser.newPage();
    await page.goto(pageOf('catalogue'));
    await page.getByRole('heading', { level: 1, name: 'Catalogue' }).waitFor();
    await page.evaluate(() => sessionStorage.removeItem('svc.reloaded-at'));
    await page.route('**', (route) => route.abort());
    await page.getByRole('link', { name: 'Sessions' }).click();
    const alert = page.getByRole('alert').filter({ hasText: 'No connection' });
    await alert.getByText('The server did not respond').waitFor();
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('link', { name: 'Catalogue' }).click();
    await page.getByRole('heading', { level: 1, name: 'Catalogue' }).waitFor();
    await page.getByRole('link', { name: 'Sessions' }).click();
    await alert.waitFor();
    await page.unroute('**');
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor();
    await page.close();
  });

  test('a missing page is reported with the request id', async () => {
    const page = await browser.newPage();
    const answered = page.waitForResponse(
      (answer) => answer.url().endsWith('/apps/nothing') && answer.request().resourceType() === 'fetch',
    );
    await page.goto(pageOf('apps/nothing'));
    const id = (await answered).headers()['x-request-id'];
    await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor();
    await page.getByText(id!).waitFor();
    await page.close();
  });

  test('a slow response about one app is never shown on the page of another', async () => {
    const made = (name: string) => done(t.member.call('POST', `${t.base}/apps`, { name }));
    const [one, two] = [await made('Number One'), await made('Number Two')];
    for (const { id } of [one, two])
      await done(t.member.call('POST', `${t.base}/apps/${id}/co-owners`, { user_id: user.id }));
    const page = await browser.newPage();
    await page.goto(pageOf(`apps/${one.slug}/settings`));
    await page.getByRole('heading', { level: 1, name: 'Number One' }).waitFor();
    const held = Promise.withResolvers<void>();
    await page.route(`**/apps/${two.slug}`, async (route) => {
      if (route.request().resourceType() !== 'document') await held.promise;
      await route.continue();
    });
    await page.getByRole('link', { name: 'My apps' }).click();
    await page.getByRole('link', { name: 'Number Two' }).click();
    await page.getByRole('status', { name: 'Loading' }).waitFor();
    expect(await page.getByRole('heading', { level: 1, name: 'Number One' }).count()).toBe(0);
    held.resolve();
    await page.getByRole('heading', { level: 1, name: 'Number Two' }).waitFor();
    await page.close();
  });
});
