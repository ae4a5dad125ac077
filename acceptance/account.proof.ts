import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { useFixture } from '../scripts/use-fixture.ts';
import { TestBrowser } from '../server/src/identity/provider/browser-testing.ts';
import { svcFor } from './support/commands.ts';
import { newPasswordUser, newTenant, type PasswordUser, withToken } from './support/people.ts';
import { root, temporaryFolder } from './support/server.ts';
import { onTerminal } from './support/terminal.ts';

const t = useFixture(newTenant);

const newPassword = 'tulip anvil gravel moon';

async function newUser() {
  const user = await withToken(t.server, await newPasswordUser(t.server, t.id));
  return { ...user, svc: svcFor(t.server, { token: user.token, tenant: t.slug }) };
}

async function signIn({ email, password }: Pick<PasswordUser, 'email' | 'password'>): Promise<number> {
  const browser = new TestBrowser(t.server.baseUrl);
  return (await browser.press(await browser.open('/login'), 'Sign in', { email, password })).status;
}

const change = ['account', 'password', '--password-stdin'];

describe('svc account password', () => {
  test('previews, then changes the password and ends the other sessions', async () => {
    const { svc, ...user } = await newUser();
    const other = await withToken(t.server, user);
    const stdin = `${user.password}\n${newPassword}\n`;
    const preview = await svc([...change, '--json'], { stdin });
    expect([preview.code, preview.json()]).toMatchObject([0, { dry_run: true }]);
    expect(preview.stdout + preview.stderr).not.toContain(newPassword);
    expect(await signIn(user)).toBe(200);
    expect((await svc([...change, '--execute'], { stdin })).code).toBe(0);
    expect(await signIn(user)).toBe(401);
    expect(await signIn({ ...user, password: newPassword })).toBe(200);
    expect((await svc(['whoami'])).code).toBe(0);
    expect((await other.call('GET', '/api/v1/me')).status).toBe(401);
  });

  test('refuses a wrong password, a short one and a common one, each with its exit code', async () => {
    const { svc, password } = await newUser();
    const ran = async (current: string, next: string) => {
      const { code, stderr } = await svc([...change, '--execute'], { stdin: `${current}\n${next}\n` });
      return [code, stderr];
    };
    expect(await ran('not it', newPassword)).toEqual([4, expect.stringContaining('current password')]);
    expect(await ran(password, 'elevenchars')).toEqual([7, expect.stringContaining('12 characters')]);
    expect(await ran(password, 'password1234')).toEqual([7, expect.stringContaining('too easy to guess')]);
    expect((await svc([...change, '--execute'], { stdin: 'one line\n' })).code).toBe(2);
    expect((await svc(['account', 'password', '--execute'])).code).toBe(2);
  });

  test('asks on a terminal, and shows nothing of what is typed', async () => {
    const user = await newUser();
    const terminal = onTerminal([join(root, 'svc'), 'account', 'password', '--execute', '--yes'], {
      ...process.env,
      SVC_BASE_URL: t.server.baseUrl,
      SVC_CONFIG_DIR: join(temporaryFolder(), 'config'),
      SVC_TOKEN: user.token,
      SVC_API_KEY: undefined,
    });
    for (const [question, typed] of [
      ['Current password', user.password],
      ['New password', newPassword],
      ['New password again', newPassword],
    ] as const) {
      await terminal.sees(question);
      terminal.type(`${typed}\r`);
    }
    expect(await terminal.exited).toBe(0);
    expect(terminal.shown()).not.toContain(newPassword);
    expect(await signIn({ ...user, password: newPassword })).toBe(200);
  });
});

describe('svc account sign-ins', () => {
  test('lists sign-ins, failures and new tokens of the person alone', async () => {
    const { svc, ...user } = await newUser();
    await signIn({ ...user, password: 'wrong' });
    await signIn(user);
    await svc(['pats', 'create', '--name', 'for a report', '--execute']);
    const { code, json } = await svc(['account', 'sign-ins', '--json']);
    expect([code, json<{ items: unknown[] }>().items]).toMatchObject([
      0,
      [
        { event: 'token_created', name: 'for a report' },
        { event: 'signed_in', method: 'password' },
        { event: 'sign_in_failed', method: 'password' },
        { event: 'token_issued' },
      ],
    ]);
    const { body } = await t.member.call('GET', '/api/v1/me/sign-ins');
    expect(body.items.map((item: { event: string }) => item.event)).toEqual(['token_issued']);
  });
});

test('without a mail server, the page for a forgotten password names who can help', async () => {
  const browser = new TestBrowser(t.server.baseUrl);
  expect((await browser.open('/login')).html).not.toContain('/login/forgot');
  const page = await browser.open('/login/forgot');
  expect([page.status, page.html]).toEqual([404, expect.stringContaining('Ask your administrator')]);
});
