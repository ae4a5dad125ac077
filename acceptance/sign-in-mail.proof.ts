import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { request } from 'node:http';
import { join } from 'node:path';
import { cliClientId } from '@svc/contract/identity.ts';
import type { BrowserContext, Page } from 'playwright-core';
import { hasSmtpServer, type SmtpServer, startSmtpServer } from '../scripts/smtp-server.ts';
import { TestBrowser } from '../server/src/identity/provider/browser-testing.ts';
import { totpCode } from './support/authenticator.ts';
import { hasChromium, openChromium, signInAt } from './support/chromium.ts';
import { svcFor } from './support/commands.ts';
import { violationsOf } from './support/console/browsing.ts';
import { newPasswordUser, newTenant, type PasswordUser, type Tenant, withToken } from './support/people.ts';
import { startServer, temporaryFolder } from './support/server.ts';
import { answerLogin } from './support/sign-in.ts';
import { until } from './support/until.ts';

const newPassword = 'tulip anvil gravel moon';
const address = '203.0.113.7';
const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';

describe.if(hasChromium && hasSmtpServer)('with a mail server, and a browser behind a proxy', () => {
  let smtp: SmtpServer;
  let t: Tenant;
  let context: BrowserContext;
  beforeAll(async () => {
    smtp = await startSmtpServer(join(temporaryFolder(), 'smtp'));
    const env = {
      SVC_SMTP_URL: smtp.url,
      SVC_MAIL_FROM: 'svc <svc@mail.example>',
      SVC_TRUSTED_PROXIES: '127.0.0.1,::1,10.0.0.0/8',
    };
    t = await newTenant(await startServer({ env }));
    context = await openChromium({
      width: 1280,
      height: 900,
      userAgent: firefox,
      extraHTTPHeaders: { 'x-forwarded-for': address },
    });
  });
  afterAll(async () => {
    await context?.close();
    await smtp?.stop();
  });

  const enterPassword = (page: Page, { email }: PasswordUser, password: string) =>
    signInAt(page, { email, password });
  const openLogin = (page: Page) => page.goto(`${t.server.baseUrl}/login?return_to=/t/${t.slug}/security`);
  const isSecurityPage = (page: Page) => page.getByRole('heading', { name: 'Security' }).waitFor();
  const linksTo = ({ email }: PasswordUser) =>
    smtp
      .mails()
      .filter(({ to }) => to === email)
      .flatMap(({ text }) => /http\S+\/login\/reset\?token=[\w-]+/.exec(text)?.[0] ?? []);

  async function requestLink(page: Page, user: PasswordUser): Promise<string> {
    const before = linksTo(user);
    await openLogin(page);
    await page.getByRole('link', { name: /forgot/i }).click();
    await page.getByLabel(/e-mail/i).fill(user.email);
    await page.getByRole('button', { name: 'Send the link' }).click();
    await page.getByRole('heading', { name: 'Check your e-mail' }).waitFor();
    return until('the link arrives', async () => linksTo(user).find((link) => !before.includes(link)));
  }

  async function setPassword(page: Page, password: string, repeated = password) {
    await page.getByLabel('New password', { exact: true }).fill(password);
    await page.getByLabel('Repeat the new password').fill(repeated);
    await page.getByRole('button', { name: 'Set the password' }).click();
  }

  test('a forgotten password is reset by the link of the e-mail, which works once', async () => {
    const user = await newPasswordUser(t.server, t.id);
    const before = await withToken(t.server, user);
    const page = await context.newPage();
    const replaced = await requestLink(page, user);
    const link = await requestLink(page, user);
    const [mail] = smtp.mails().filter(({ to }) => to === user.email);
    expect(mail?.header('from')).toBe('svc <svc@mail.example>');

    await page.goto(replaced);
    await page.getByRole('heading', { name: 'This link is no longer valid' }).waitFor();
    await page.goto(link);
    expect(await violationsOf(page)).toEqual([]);
    await setPassword(page, newPassword, 'tulip anvil gravel sun');
    await page.getByRole('alert').filter({ hasText: 'differ' }).waitFor();
    await setPassword(page, 'password1234');
    await page.getByRole('alert').filter({ hasText: 'too easy to guess' }).waitFor();
    expect((await before.call('GET', '/api/v1/me')).status).toBe(200);
    await setPassword(page, newPassword);
    await page.getByRole('heading', { name: 'Password set' }).waitFor();
    expect((await before.call('GET', '/api/v1/me')).status).toBe(401);

    await openLogin(page);
    await enterPassword(page, user, user.password);
    await page.getByRole('alert').waitFor();
    await enterPassword(page, user, newPassword);
    await isSecurityPage(page);
    await context.clearCookies();
    await page.goto(link);
    await page.getByRole('heading', { name: 'This link is no longer valid' }).waitFor();
    await page.close();
  });

  test('a reset does not replace the second factor', async () => {
    const user = await newPasswordUser(t.server, t.id);
    const page = await context.newPage();
    await openLogin(page);
    await enterPassword(page, user, user.password);
    await isSecurityPage(page);
    await page.getByRole('button', { name: 'Add an authenticator app' }).click();
    await page.getByLabel('Your password').fill(user.password);
    await page.getByRole('button', { name: 'Continue' }).click();
    const secret = ((await page.getByTestId('totp-key').textContent()) ?? '').replaceAll(' ', '');
    await page.getByLabel('Code that the app shows').fill(totpCode(secret));
    await page.getByRole('button', { name: 'Add the app' }).click();
    await page.getByRole('button', { name: 'I have stored them' }).click();

    await context.clearCookies();
    await page.goto(await requestLink(page, user));
    await setPassword(page, newPassword);
    await page.getByRole('heading', { name: 'Password set' }).waitFor();
    await openLogin(page);
    await enterPassword(page, user, newPassword);
    await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor();
    expect((await page.request.get(`${t.server.baseUrl}/api/v1/me`)).status()).toBe(401);
    await page.getByLabel(/recovery code/i).fill(totpCode(secret, 1));
    await page.getByRole('button', { name: 'Confirm' }).click();
    await isSecurityPage(page);
    await page.close();
  });

  test('sessions show the address and the device of the sign-in, in the console and on the command line', async () => {
    const user = await newPasswordUser(t.server, t.id);
    await context.clearCookies();
    const page = await context.newPage();
    await openLogin(page);
    await enterPassword(page, user, user.password);
    await isSecurityPage(page);
    await page.goto(`${t.server.baseUrl}/t/${t.slug}/sessions`);
    const row = page.getByRole('row').filter({ hasText: 'Firefox on Windows' });
    await row.getByText(address, { exact: true }).waitFor();

    const { token } = await withToken(t.server, user);
    const svc = svcFor(t.server, { token, tenant: t.slug });
    const { items } = (await svc(['sessions', 'list', '--json'])).json<{ items: object[] }>();
    expect(items).toContainEqual(
      expect.objectContaining({ kind: 'browser', address, device: 'Firefox on Windows' }),
    );
    const table = (await svc(['sessions', 'list'])).stdout;
    expect(table).toMatch(/Firefox on Windows/);
    expect(table).toContain(address);
    const signIns = (await svc(['account', 'sign-ins', '--json'])).json<{ items: object[] }>();
    expect(signIns.items).toContainEqual(
      expect.objectContaining({ event: 'signed_in', address, device: 'Firefox on Windows' }),
    );
    await page.close();
  });

  test('the address of a login is that of the peer, or what a trusted proxy says', async () => {
    const user = await newPasswordUser(t.server, t.id);
    const { call } = await withToken(t.server, user);
    const browser = new TestBrowser(t.server.baseUrl);
    for (const [peer, forwardedFor, expected] of [
      ['127.0.0.9', '203.0.113.8', '127.0.0.9'],
      ['127.0.0.9', '127.0.0.1, 203.0.113.8', '127.0.0.9'],
      ['127.0.0.1', '198.51.100.1, 203.0.113.8', '203.0.113.8'],
      ['127.0.0.1', '198.51.100.1, 203.0.113.9, 10.0.0.7', '203.0.113.9'],
    ] as const) {
      const post = (path: string, fields: Record<string, string>) =>
        postFrom(peer, t.server.port, path, fields, {
          host: new URL(t.server.baseUrl).host,
          'x-forwarded-for': forwardedFor,
          'user-agent': 'svc/1.0 darwin',
        });
      const device = await post('/oauth/device/auth', { client_id: cliClientId });
      const login = { address: device.verification_uri_complete!, code: device.user_code! };
      await answerLogin(login, user, 'Approve', browser);
      await post('/oauth/token', {
        client_id: cliClientId,
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code: device.device_code!,
      });
      const { body } = await call('GET', '/api/v1/me/sessions');
      const newest = body.items
        .filter(({ device }: { device: string }) => device === 'svc command line on macOS')
        .sort((a: { created_at: string }, b: { created_at: string }) =>
          b.created_at.localeCompare(a.created_at),
        )[0];
      expect([forwardedFor, newest?.address]).toEqual([forwardedFor, expected]);
    }
  });
});

function postFrom(
  localAddress: string,
  port: number,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string>,
): Promise<Record<string, string>> {
  return new Promise((resolve, reject) => {
    const body = new URLSearchParams(fields).toString();
    const type = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length };
    const sent = request(
      { host: '127.0.0.1', port, localAddress, method: 'POST', path, headers: { ...headers, ...type } },
      async (answer) => {
        const text = await new Response(answer as unknown as ReadableStream).text();
        if (answer.statusCode === 200) resolve(JSON.parse(text));
        else reject(new Error(`POST ${path}: ${answer.statusCode} ${text}`));
      },
    );
    sent.on('error', reject).end(body);
  });
}
