import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { hasChromium } from './support/chromium.ts';
import { browserOf, waitUntilLoaded } from './support/console/browsing.ts';
import { newVisitor, type Visitor } from './support/console/world.ts';
import { done, newTenant, type Tenant } from './support/people.ts';
import { until } from './support/until.ts';

describe.if(hasChromium)('the keyboard focus in the console', () => {
  let t: Tenant;
  let olga: Visitor;
  let browser: BrowserContext;
  let page: Page;
  let app: { id: string; slug: string };
  beforeAll(async () => {
    t = await newTenant();
    olga = await newVisitor(t.server, t.slug, 'Olga Owner');
    app = await done(olga.call('POST', `${t.base}/apps`, { name: 'Keys' }));
    browser = await browserOf(t.server, olga);
    page = await browser.newPage();
  });
  afterAll(() => browser.close());

  const open = async (path: string) => {
    await page.goto(`${t.server.baseUrl}/t/${t.slug}/${path}`);
    await waitUntilLoaded(page);
  };
  const isOn = (place: Locator) => place.evaluate((element) => element === document.activeElement);
  const comesTo = (place: Locator) => until('the focus is there', () => isOn(place));
  const button = (name: string) => page.getByRole('button', { name, exact: true });

  test('returns to the button after a dialog, which starts on Cancel', async () => {
    await open(`apps/${app.slug}/settings`);
    for (const name of ['Archive', 'Delete']) {
      for (const key of ['Escape', 'Enter']) {
        await button(name).focus();
        await page.keyboard.press('Enter');
        const dialog = page.getByRole('dialog');
        await dialog.getByText('the following changes will be made').waitFor();
        await comesTo(dialog.getByRole('button', { name: 'Cancel' }));
        await page.keyboard.press(key);
        await dialog.waitFor({ state: 'hidden' });
        await comesTo(button(name));
      }
    }
    expect((await done(olga.call('GET', `${t.base}/apps/${app.id}`))).record).toBe('active');
  });

  test('stays on the button after a refused request', async () => {
    await open(`apps/${app.slug}/domains`);
    await page.getByLabel('Host name').fill('no host');
    await button('Add').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'Host name' }).and(page.locator('[aria-invalid=true]')).waitFor();
    expect(await isOn(button('Add'))).toBe(true);

    await open(`apps/${app.slug}/people`);
    await page.getByLabel('E-mail address', { exact: true }).fill('nobody@example.test');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('See the errors at the fields.').waitFor();
    expect(await page.getByText('is not an active member of this tenant').count()).toBe(1);
    expect(await page.title()).toBe('People · Keys · svc');
    expect(await isOn(page.getByLabel('E-mail address', { exact: true }))).toBe(true);
  });

  test('moves into the form that a button opens, and returns to the button', async () => {
    for (const { path, name, field } of [
      { path: 'tokens', name: 'New token', field: page.getByLabel('Name') },
      { path: `apps/${app.slug}/tables`, name: 'New table', field: page.getByLabel('Name').first() },
    ]) {
      await open(path);
      await button(name).first().focus();
      await page.keyboard.press('Enter');
      await comesTo(field);
      await button('Cancel').focus();
      await page.keyboard.press('Enter');
      await comesTo(button(name).first());
    }
    await open(`apps/${app.slug}/environment`);
    await button('Add variable').focus();
    await page.keyboard.press('Enter');
    await comesTo(page.getByLabel('Name 1'));
  });
});
