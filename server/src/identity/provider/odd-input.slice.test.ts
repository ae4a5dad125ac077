import { beforeAll, expect, test } from 'bun:test';
import type { TestBrowser } from './browser-testing.ts';
import { newUser, signIn, useProvider } from './provider-testing.ts';

const { database, provider } = useProvider();
let browser: TestBrowser;

beforeAll(async () => {
  browser = provider.browser();
  await signIn(browser, (await newUser(database)).email);
});

const values = [
  '',
  '%00',
  '%',
  '%E0%A4',
  '%F0%9F%92%A9',
  '%ED%A0%80',
  '__proto__',
  '%22%3E%3Cscript%3E',
  '..%2f',
  'x'.repeat(3000),
  '%0d%0aset-cookie:a=b',
  'a&state=1&state=2',
  '{}',
  '-1',
  '1e999',
];
const names = [
  'state',
  'nonce',
  'login_hint',
  'scope',
  'prompt',
  'max_age',
  'id_token_hint',
  'claims',
  'request',
].concat([
  'response_mode',
  'client_id',
  'redirect_uri',
  'resource',
  'code_challenge',
  'user_code',
  '__proto__',
]);

test('hostile input never causes a server error and is never echoed unescaped', async () => {
  const cookie = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const back = encodeURIComponent(`${provider.baseUrl}/login/done`);
  const challenge = `code_challenge=${'a'.repeat(43)}&code_challenge_method=S256`;
  const request = `client_id=svc-console&response_type=code&redirect_uri=${back}&scope=openid&${challenge}`;
  for (const value of values) {
    const token = `client_id=svc-cli&grant_type=refresh_token&refresh_token=${value}`;
    await Promise.all([
      ...names.flatMap((name) => [
        open('/oauth/auth', `${request}&${name}=${value}`, {}),
        post('/oauth/device/auth', `client_id=svc-cli&${name}=${value}`, {}),
      ]),
      open('/oauth/auth', `${request}&login_hint=${value}&prompt=login`, { cookie, accept: 'text/html' }),
      open('/login', `return_to=${value}`, {}),
      open('/login/done', `state=${value}&error=${value}`, { cookie: 'svc_login=x' }),
      open('/oauth/session/end', `client_id=svc-console&state=${value}&post_logout_redirect_uri=${value}`, {
        cookie,
      }),
      open('/oauth/device', `user_code=${value}`, { cookie }),
      post('/oauth/device', `user_code=${value}&xsrf=${value}`, { cookie, accept: 'text/html' }),
      // Without the session that opening the form would have created.
      post('/oauth/device', `user_code=${value}&xsrf=${value}`, { accept: 'text/html' }),
      open(`/oauth/device/${encodeURIComponent(value.slice(0, 100))}`, '', {}),
      post('/oauth/token', token, {}),
      post('/oauth/token/revocation', `client_id=svc-cli&token=${value}`, {}),
      open('/oauth/upstream/callback', `state=${value}&code=${value}`, {}),
    ]);
  }
  expect(faults).toEqual([]);
});

const faults: string[] = [];

async function open(path: string, query: string, headers: Record<string, string>): Promise<void> {
  await check(
    `${path} ${query}`,
    await fetch(`${provider.baseUrl}${path}?${query}`, { redirect: 'manual', headers }),
  );
}

async function post(path: string, body: string, headers: Record<string, string>): Promise<void> {
  const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
  const init: RequestInit = { method: 'POST', redirect: 'manual', body, headers: form };
  await check(`${path} ${body}`, await fetch(`${provider.baseUrl}${path}`, init));
}

async function check(what: string, answer: Response): Promise<void> {
  const text = await answer.text();
  if (answer.status >= 500) faults.push(`${answer.status} ${what}`);
  if (text.includes('"><script>')) faults.push(`not escaped: ${what}`);
  if (answer.headers.getSetCookie().some((line) => line.startsWith('a=b'))) faults.push(`header: ${what}`);
}
