import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium, openChromium, signInAt } from './support/chromium.ts';
import { root } from './support/server.ts';
import { bundleForBrowser, newTodoApp, type TodoApp } from './support/todo-app.ts';

describe.if(hasChromium)('the example app of the SDK in a real browser', () => {
  let t: TodoApp;
  let home: ReturnType<typeof Bun.serve>;
  beforeAll(async () => {
    t = await newTodoApp();
    home = await serveExample(t);
  });
  afterAll(() => home.stop(true));

  describe.each([
    ['a desk', { width: 1280, height: 800 }],
    ['a phone', { width: 360, height: 740 }],
  ])('on %s', (_, size) => {
    let browser: BrowserContext;
    beforeAll(async () => {
      browser = await openChromium(size);
    });
    afterAll(() => browser.close());

    test('a person signs in, adds, ticks off, deletes and exports todos, and signs out', async () => {
      const page = await browser.newPage();
      const errors = errorsOf(page);
      const address = `http://localhost:${home.port}/`;
      await page.goto(address);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByLabel(/e-mail/i).fill(t.owner.email);
      await page.getByLabel('Password').fill(t.owner.password);
      await fits(page);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Todo app wants to sign you in' }).waitFor();
      await fits(page);
      await page.getByRole('button', { name: 'Allow' }).click();

      await page.getByText(t.owner.email).waitFor();
      expect(page.url()).toBe(address);
      const items = page.getByRole('listitem');
      for (const title of ['Buy milk', 'Write "a letter"']) {
        await page.getByLabel('What is to be done').fill(title);
        await page.getByRole('button', { name: 'Add' }).click();
        await page.getByText(title).waitFor();
      }
      await fits(page);
      await page.getByLabel('Buy milk').first().check();
      await page.locator('li.done', { hasText: 'Buy milk' }).waitFor();
      // Stored at the server and with the sign-in: a new page has everything.
      await page.reload();
      await page.locator('li.done', { hasText: 'Buy milk' }).waitFor();
      expect(await items.count()).toBe(2);

      const link = page.locator('#exported a');
      await page.getByRole('button', { name: 'Export' }).click();
      await link.waitFor();
      const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
      expect(readFileSync(await download.path(), 'utf8')).toBe(
        '{"title":"Buy milk","done":true}\n{"title":"Write \\"a letter\\"","done":false}\n',
      );

      const other = await browser.newPage();
      await other.goto(address);
      await other.getByText(t.owner.email).waitFor();
      // Both tabs find the token at its end at the same time; a refresh token used twice would sign them out.
      await page.evaluate(expireToken);
      await Promise.all([page.reload(), other.reload()]);
      for (const tab of [page, other]) await tab.locator('li.done', { hasText: 'Buy milk' }).waitFor();
      for (const title of ['Buy milk', 'Write "a letter"']) {
        await page.getByRole('button', { name: `Delete ${title}` }).click();
        await page.getByText(title).waitFor({ state: 'detached' });
      }
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      // The other tab is signed out as well, and no token remains in storage.
      await other.getByRole('button', { name: 'Sign in' }).waitFor();
      expect(
        await page.evaluate(() => Object.keys(localStorage).length + Object.keys(sessionStorage).length),
      ).toBe(0);
      expect(errors).toEqual([]);
    });
  });

  test('a person who denies returns to the app with an error', async () => {
    const browser = await openChromium({ width: 360, height: 740, colorScheme: 'dark' });
    const page = await browser.newPage();
    await page.goto(`http://localhost:${home.port}/`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await signInAt(page, t.coOwner);
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByRole('alert').filter({ hasText: 'access_denied' }).waitFor();
    expect(await page.getByRole('button', { name: 'Sign in' }).isVisible()).toBe(true);
    await browser.close();
  });
});

async function serveExample(t: TodoApp) {
  const script = await bundleForBrowser('sdk/example/app.ts');
  const settings = { baseUrl: t.tenant.server.baseUrl, tenant: t.tenant.slug, app: t.app, appId: t.appId };
  const html = readFileSync(join(root, 'sdk/example/index.html'), 'utf8').replace(
    /(<script type="application\/json" id="settings">)[^<]*/,
    (_, tag) => tag + JSON.stringify(settings),
  );
  return Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) =>
      new URL(request.url).pathname === '/app.js'
        ? new Response(script, { headers: { 'content-type': 'text/javascript' } })
        : new Response(html, { headers: { 'content-type': 'text/html' } }),
  });
}

/** Runs in the page. */
function expireToken(): void {
  for (const [key, value] of Object.entries(localStorage))
    localStorage.setItem(key, JSON.stringify({ ...JSON.parse(value), expiresAt: 0 }));
}

function errorsOf(page: Page): string[] {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico'))
      errors.push(`${message.text()} ${message.location().url}`);
  });
  page.on('response', async (response) => {
    if (response.status() >= 500) errors.push(`${response.url()}: ${await response.text().catch(String)}`);
  });
  return errors;
}

async function fits(page: Page): Promise<void> {
  const wide = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect([page.url(), wide]).toEqual([page.url(), 0]);
}
