import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { totpCode } from './support/authenticator.ts';
import { hasChromium, openChromium, signInAt } from './support/chromium.ts';
import { admin, svcFor } from './support/commands.ts';
import { violationsOf } from './support/console/browsing.ts';
import { newPasswordUser, newTenant, type PasswordUser, type Tenant, withToken } from './support/people.ts';
import { temporaryFolder } from './support/server.ts';
import { startLogin } from './support/sign-in.ts';

describe.if(hasChromium)('second factors in a real browser', () => {
  let t: Tenant;
  let context: BrowserContext;
  beforeAll(async () => {
    t = await newTenant();
    context = await openChromium({ width: 1280, height: 900 });
  });
  afterAll(() => context.close());

  /** A page with an authenticator of its own, which verifies its user without asking. */
  async function newPage(): Promise<Page> {
    await context.clearCookies();
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return page;
  }

  const statusOfMe = async (page: Page) => (await page.request.get(`${t.server.baseUrl}/api/v1/me`)).status();

  async function enterPassword(page: Page, user: PasswordUser, path = `/t/${t.slug}/security`) {
    await page.goto(`${t.server.baseUrl}/login?return_to=${path}`);
    await signInAt(page, user);
  }

  const isSecurityPage = (page: Page) => page.getByRole('heading', { name: 'Security' }).waitFor();

  /** Also closes the dialog. */
  async function storedCodes(page: Page): Promise<string[]> {
    await page.getByText('Store your recovery codes').waitFor();
    const codes = await page.locator('.recovery-code').allTextContents();
    await page.getByRole('button', { name: 'I have stored them' }).click();
    return codes;
  }

  /** In the dialog with the preview. What cannot be undone takes the name of its target. */
  async function confirmChange(page: Page, title: string, verb: string, name?: string) {
    const dialog = page.getByRole('dialog', { name: title });
    await dialog.getByText('the following changes will be made').waitFor();
    if (name !== undefined) await dialog.getByRole('textbox').fill(name);
    await dialog.getByRole('button', { name: verb, exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
  }

  async function confirmCode(page: Page, code: string) {
    await page.getByLabel(/recovery code/i).fill(code);
    await page.getByRole('button', { name: 'Confirm' }).click();
  }

  async function addApp(page: Page, user: PasswordUser) {
    await page.getByRole('button', { name: 'Add an authenticator app' }).click();
    await page.getByLabel('Your password').fill(user.password);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('img', { name: /QR code/ }).waitFor();
    const secret = ((await page.getByTestId('totp-key').textContent()) ?? '').replaceAll(' ', '');
    await page.getByLabel('Code that the app shows').fill(totpCode(secret));
    await page.getByRole('button', { name: 'Add the app' }).click();
    return { secret, codes: await storedCodes(page) };
  }

  test('a passkey is added in the console, and signs in alone', async () => {
    const user = await newPasswordUser(t.server, t.id);
    const page = await newPage();
    await enterPassword(page, user);
    await isSecurityPage(page);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Laptop');
    await page.getByLabel('Your password').fill('not the password');
    await page.getByRole('button', { name: 'Create the passkey' }).click();
    await page.getByText('The current password is wrong').first().waitFor();
    await page.getByLabel('Your password').fill(user.password);
    await page.getByRole('button', { name: 'Create the passkey' }).click();
    expect(await storedCodes(page)).toHaveLength(10);
    await page.getByRole('cell', { name: 'Laptop Passkey' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);

    await context.clearCookies();
    await page.goto(`${t.server.baseUrl}/login?return_to=/t/${t.slug}/security`);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await isSecurityPage(page);
    await page.getByRole('cell', { name: 'passkey', exact: true }).first().waitFor();

    // The password alone is not enough now; with the passkey it is.
    await context.clearCookies();
    await enterPassword(page, user);
    await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
    expect(await statusOfMe(page)).toBe(401);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await isSecurityPage(page);

    const { token } = await withToken(t.server, user);
    const svc = svcFor(t.server, { token, tenant: t.slug });
    const { items } = (await svc(['account', 'factors', 'list', '--json'])).json<{
      items: { id: string; name: string }[];
    }>();
    expect(items).toMatchObject([{ kind: 'passkey', name: 'Laptop' }]);
    const remove = ['account', 'factors', 'remove', items[0]!.id, '--password-stdin', '--execute'];
    expect((await svc(remove, { stdin: 'wrong\n' })).code).toBe(4);
    expect((await svc(remove, { stdin: `${user.password}\n` })).code).toBe(0);
    await context.clearCookies();
    await enterPassword(page, user);
    await isSecurityPage(page);
    await page.close();
  });

  test('an authenticator app is added by its key, and a recovery code works once', async () => {
    const user = await newPasswordUser(t.server, t.id);
    const page = await newPage();
    await enterPassword(page, user);
    await isSecurityPage(page);
    const { secret, codes } = await addApp(page, user);
    expect(codes).toHaveLength(10);

    await context.clearCookies();
    await enterPassword(page, user);
    await confirmCode(page, '000000');
    await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor();
    // The code of this half-minute was used up when the app was added.
    await confirmCode(page, totpCode(secret, 1));
    await isSecurityPage(page);

    await context.clearCookies();
    await enterPassword(page, user);
    await confirmCode(page, codes[0]!);
    await isSecurityPage(page);
    await page.getByText('9 recovery codes are left').waitFor();
    await context.clearCookies();
    await enterPassword(page, user);
    await confirmCode(page, codes[0]!);
    await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor();

    const removed = await admin<{ removed: number }>(t.server, ['users', 'reset-factors', user.email]);
    expect(removed.removed).toBe(1);
    await enterPassword(page, user);
    await isSecurityPage(page);
    await page.close();
  });

  test('a login of the command line is approved only after the second factor, by app, recovery code or passkey', async () => {
    const user = await newPasswordUser(t.server, t.id);
    const page = await newPage();
    await enterPassword(page, user);
    await isSecurityPage(page);
    const { secret, codes } = await addApp(page, user);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Laptop');
    await page.getByLabel('Your password').fill(user.password);
    await page.getByRole('button', { name: 'Create the passkey' }).click();
    await page.getByRole('cell', { name: 'Laptop Passkey' }).waitFor();

    const factors = [
      // The code of this half-minute was used up when the app was added.
      () => confirmCode(page, totpCode(secret, 1)),
      () => confirmCode(page, codes[0]!),
      () => page.getByRole('button', { name: 'Use a passkey' }).click(),
    ];
    for (const giveFactor of factors) {
      await context.clearCookies();
      const env = { SVC_BASE_URL: t.server.baseUrl, SVC_CONFIG_DIR: join(temporaryFolder(), 'config') };
      const login = await startLogin(env, ['--no-browser', '--json']);
      await page.goto(login.address);
      await signInAt(page, user);
      await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
      // The password alone opens neither the page for codes nor the API.
      const skipped = await page.request.get(login.address);
      expect([await statusOfMe(page), new URL(skipped.url()).pathname]).toEqual([
        401,
        expect.stringMatching(/^\/oauth\/interaction\//),
      ]);
      await giveFactor();
      const field = page.getByLabel('Code', { exact: true });
      await field.waitFor();
      expect(await field.inputValue()).toBe(login.code);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByText(login.code).waitFor();
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByRole('heading', { name: 'Signed in' }).waitFor();
      const { code, stdout } = await login.ended;
      expect([code, JSON.parse(stdout).user.email]).toEqual([0, user.email]);
      const me = await svcFor(t.server)(['whoami', '--json'], { env });
      expect(me.json<{ user: { id: string } }>().user.id).toBe(user.id);
    }
    await page.close();
  });

  test('a tenant that requires a second factor has its members add one before they get in', async () => {
    const strict = await newTenant(t.server);
    const user = await newPasswordUser(t.server, strict.id);
    const page = await newPage();
    const theirAdmin = await newPasswordUser(t.server, strict.id, { role: 'tenant_admin' });
    await enterPassword(page, theirAdmin, `/t/${strict.slug}/admin/settings`);
    await page.getByRole('switch', { name: 'Require a second factor' }).click();
    await page.getByRole('button', { name: 'Save settings' }).click();
    await confirmChange(page, 'Update the tenant', 'Save');
    // Who asks for it may go on, so that a tenant is not locked out by a slip.
    expect(await statusOfMe(page)).toBe(200);
    await context.clearCookies();
    await enterPassword(page, user, `/t/${strict.slug}/security`);
    await page.getByRole('heading', { name: 'Add a second factor' }).waitFor();
    expect(await statusOfMe(page)).toBe(401);
    await page.getByRole('button', { name: 'Create a passkey' }).click();
    await page.getByRole('heading', { name: 'Store your recovery codes' }).waitFor();
    await page.getByRole('button', { name: 'I have stored them' }).click();
    await isSecurityPage(page);
    await page
      .getByRole('cell', { name: /Passkey/ })
      .first()
      .waitFor();
    await page.close();
  });

  test('a changed password ends the other sessions, and signs in from then on', async () => {
    const user = await newPasswordUser(t.server, t.id);
    const page = await newPage();
    await enterPassword(page, user);
    const elsewhere = await context.cookies();
    await context.clearCookies();
    await enterPassword(page, user);
    await isSecurityPage(page);
    const password = `another horse ${Bun.randomUUIDv7()}`;
    const fill = async (current: string, repeated: string) => {
      await page.getByRole('textbox', { name: 'Current password' }).fill(current);
      await page.getByRole('textbox', { name: 'New password', exact: true }).fill(password);
      await page.getByRole('textbox', { name: 'New password again' }).fill(repeated);
      await page.getByRole('button', { name: 'Change password' }).click();
    };
    await fill(user.password, 'something else');
    await page.getByText('differs from the new password').waitFor();
    await fill('not the password', password);
    await page.getByText('The current password is wrong').first().waitFor();
    await fill(user.password, password);
    await confirmChange(page, 'Change your password', 'Change password', user.email);
    await page.getByText('Your other sessions have ended').waitFor();
    expect(await statusOfMe(page)).toBe(200);
    expect(await violationsOf(page)).toEqual([]);

    await context.clearCookies();
    await context.addCookies(elsewhere);
    expect(await statusOfMe(page)).toBe(401);
    await context.clearCookies();
    await enterPassword(page, user);
    await page.getByRole('alert').waitFor();
    await enterPassword(page, { ...user, password });
    await isSecurityPage(page);
    await page.getByRole('cell', { name: 'Password changed' }).waitFor();
    await page.close();
  });

  test('new recovery codes replace the old ones, and a factor is renamed and removed', async () => {
    const user = await newPasswordUser(t.server, t.id);
    const page = await newPage();
    await enterPassword(page, user);
    await isSecurityPage(page);
    const { codes } = await addApp(page, user);
    const fillPassword = (title: string, password: string) =>
      page.getByRole('dialog', { name: title }).getByRole('textbox').fill(password);
    const preview = (title: string) =>
      page.getByRole('dialog', { name: title }).getByRole('button', { name: 'Preview' }).click();

    await page.getByRole('button', { name: 'New recovery codes' }).click();
    await fillPassword('New recovery codes', user.password);
    await preview('New recovery codes');
    await confirmChange(page, 'Replace your recovery codes', 'Replace', user.email);
    const newCodes = await storedCodes(page);
    expect(newCodes.filter((code) => codes.includes(code))).toEqual([]);
    await context.clearCookies();
    await enterPassword(page, user);
    await confirmCode(page, codes[0]!);
    await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor();
    await confirmCode(page, newCodes[0]!);
    await isSecurityPage(page);
    await page.getByText('9 recovery codes are left').waitFor();

    await page.getByRole('button', { name: 'Rename Authenticator app' }).click();
    await page.getByRole('dialog', { name: 'Rename' }).getByLabel('Name').fill('Phone');
    await preview('Rename');
    await confirmChange(page, 'Rename a second factor', 'Rename');
    await page.getByRole('button', { name: 'Remove Phone' }).click();
    await fillPassword('Remove Phone', user.password);
    await preview('Remove Phone');
    await confirmChange(page, 'Remove a second factor', 'Remove', user.email);
    await page.getByText('You have no second factor yet').waitFor();
    await page.getByRole('cell', { name: 'Second factor removed' }).waitFor();
    await context.clearCookies();
    await enterPassword(page, user);
    await isSecurityPage(page);
    await page.close();
  });
});
