import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium, openChromium, signInAt } from './support/chromium.ts';
import { svcFor } from './support/commands.ts';
import { newPasswordUser, newTenant, type PasswordUser, type Tenant } from './support/people.ts';
import { temporaryFolder } from './support/server.ts';
import { startLogin } from './support/sign-in.ts';

describe.if(hasChromium)('signing in with a real browser on a phone', () => {
  let t: Tenant;
  let user: PasswordUser;
  let browser: BrowserContext;
  beforeAll(async () => {
    t = await newTenant();
    user = await newPasswordUser(t.server, t.id);
    browser = await openChromium({ width: 360, height: 740, colorScheme: 'dark' });
  });
  afterAll(() => browser.close());

  /** Everything on the page can be reached without scrolling sideways, and every field has a name. */
  async function fitsAPhone(page: Page): Promise<void> {
    const wide = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect([page.url(), wide]).toEqual([page.url(), 0]);
    for (const field of await page.locator('input:not([type=hidden])').all()) {
      const isNamed = await field.evaluate(
        (element) => element instanceof HTMLInputElement && (element.labels?.length ?? 0) > 0,
      );
      expect(isNamed).toBe(true);
    }
  }

  test('a login from the command line is approved by signing in and comparing the code', async () => {
    const env = { SVC_BASE_URL: t.server.baseUrl, SVC_CONFIG_DIR: join(temporaryFolder(), 'config') };
    const login = await startLogin(env, ['--no-browser']);
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico'))
        errors.push(message.text());
    });

    await page.goto(login.address);
    await fitsAPhone(page);
    await page.getByLabel(/e-mail/i).fill(user.email);
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    errors.length = 0; // The browser itself logs the 401 of a wrong password.
    await signInAt(page, user);

    const code = page.getByLabel(/code/i);
    await code.waitFor();
    await fitsAPhone(page);
    if ((await code.inputValue()) === '') await code.fill(login.code.toLowerCase());
    await page.getByRole('button', { name: /continue/i }).click();
    await page.getByText(login.code).waitFor();
    await fitsAPhone(page);
    expect(await page.getByText(user.email).count()).toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading').waitFor();
    await fitsAPhone(page);

    expect((await login.ended).code).toBe(0);
    const me = await svcFor(t.server)(['whoami', '--json'], { env });
    expect(me.json<{ user: { email: string } }>().user.email).toBe(user.email);
    expect(errors).toEqual([]);
  });

  test("the session cookie is the browser's login, is hidden from scripts, and ends with the sign-out", async () => {
    const page = await browser.newPage();
    await page.goto(`${t.server.baseUrl}/login?return_to=/healthz`);
    if (await page.getByLabel(/e-mail/i).count()) {
      await signInAt(page, user);
    }
    await page.waitForURL(`${t.server.baseUrl}/healthz`);
    const cookie = (await browser.cookies()).find(({ name }) => name === 'svc_session');
    expect([cookie?.httpOnly, cookie?.sameSite]).toEqual([true, 'Lax']);
    const asked = await page.evaluate("fetch('/api/v1/me').then((answer) => answer.json())");
    expect(asked).toMatchObject({ email: user.email, credential: { kind: 'session' } });

    await page.evaluate(() => {
      const form = Object.assign(document.createElement('form'), { method: 'post', action: '/logout' });
      document.body.append(form);
      form.submit();
    });
    await page.waitForURL(`${t.server.baseUrl}/`);
    await page.goto(`${t.server.baseUrl}/healthz`);
    const after = await page.evaluate(() => fetch('/api/v1/me').then((answer) => answer.status));
    expect(after).toBe(401);
  });
});
