import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestBrowser } from '../server/src/identity/provider/browser-testing.ts';
import { admin, run, svcFor } from './support/commands.ts';
import { openServerDatabase, type ServerDatabase } from './support/database.ts';
import {
  type Answered,
  caller,
  done,
  newApp,
  newPasswordUser,
  newTenant,
  type PasswordUser,
  type Tenant,
} from './support/people.ts';
import { type RunningServer, readMetrics, startServer, temporaryFolder } from './support/server.ts';
import { answerLogin, startLogin } from './support/sign-in.ts';
import { until } from './support/until.ts';

let server: RunningServer;
let database: ServerDatabase;
let t: Tenant;
let user: PasswordUser;
/** All secrets of the test, by kind. */
const secrets = new Map<string, string>();
/** Texts that must not contain a secret: answers, errors, messages on stderr. */
const texts: string[] = [];

// A server of its own, on the embedded database, that logs all it can, from its very first start on.
beforeAll(async () => {
  server = await startServer({ finds: 'nothing', env: { SVC_LOG_LEVEL: 'debug', SVC_DATABASE_URL: '' } });
  database = openServerDatabase(server);
  t = await newTenant(server);
  user = await newPasswordUser(server, t.id);
  for (const { email, token } of [t.admin, t.member]) secrets.set(`token of ${email}`, token);
  secrets.set('password', user.password);
  const { secret } = readJson('local-login.json');
  secrets.set('local secret', secret);
  const { superuser, control } = readJson('postgres.json');
  secrets.set('password of the superuser', superuser).set('password of the control plane', control);
  await signIns();
  await storedForApps();
  await tokensAndMistakes();
});
afterAll(() => database?.close());

const readJson = (name: string) => JSON.parse(readFileSync(join(server.dataDir, name), 'utf8'));

/** Records a new secret. */
function secret(name: string, value: unknown): string {
  if (typeof value !== 'string' || value.length < 8) throw new Error(`${name} is no secret: ${value}`);
  secrets.set(name, value);
  return value;
}

function overheard({ body }: Answered): void {
  texts.push(typeof body === 'string' ? body : JSON.stringify(body));
}

async function token(fields: Record<string, string>): Promise<Record<string, string>> {
  const body = new URLSearchParams({ client_id: 'svc-cli', ...fields });
  const answer = await fetch(`${server.baseUrl}/oauth/token`, { method: 'POST', body });
  return (await answer.json()) as Record<string, string>;
}

/** Sign-ins of every kind. */
async function signIns(): Promise<void> {
  const folder = join(temporaryFolder(), 'config');
  const login = await startLogin({ SVC_BASE_URL: server.baseUrl, SVC_CONFIG_DIR: folder }, ['--verbose']);
  secret('user code', login.code);
  secret('user code without a dash', login.code.replace('-', ''));
  const started = await fetch(`${server.baseUrl}/oauth/device/auth`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'svc-cli', scope: 'openid offline_access' }),
  });
  const device = (await started.json()) as Record<string, string>;
  const code = secret('second user code', device.user_code);
  secret('device code', device.device_code);
  const browser = new TestBrowser(server.baseUrl);
  const page = await browser.open('/login');
  const wrong = secret('mistyped password', `mistyped ${Bun.randomUUIDv7()}`);
  texts.push((await browser.press(page, 'Sign in', { email: user.email, password: wrong })).html);
  await answerLogin(login, user, 'Approve', browser);
  await answerLogin({ address: device.verification_uri!, code }, user, 'Approve', browser);
  for (const name of ['svc_session', 'svc_session.sig']) secret(`cookie ${name}`, browser.cookie(name));

  const tokens = await until('the device gets its tokens', async () => {
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    const answer = await token({ grant_type, device_code: device.device_code! });
    return answer.access_token ? answer : null;
  });
  for (const name of ['access_token', 'refresh_token', 'id_token']) secret(`device's ${name}`, tokens[name]);
  const renewed = await token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token! });
  for (const name of ['access_token', 'refresh_token']) secret(`renewed ${name}`, renewed[name]);
  // A refresh token used twice revokes its whole family, and the log records that.
  expect(await token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token! })).toHaveProperty(
    'error',
  );

  const { code: exit, stderr } = await login.ended;
  expect(exit).toBe(0);
  texts.push(stderr.replaceAll(login.code, ''));
  const stored = JSON.parse(readFileSync(join(folder, 'credentials.json'), 'utf8')).profiles.default;
  secret('access token of svc', stored.access_token);
  secret('refresh token of svc', stored.refresh_token);
}

/** A variable of an app, the password of a connector and the token of a service account. */
async function storedForApps(): Promise<void> {
  const app = await newApp(t, { owner: t.member });
  const svc = svcFor(server, { token: t.member.token, tenant: t.slug });
  const variable = secret('variable of an app', `variable ${Bun.randomUUIDv7()}`);
  const set = ['env', 'set', `SECRET=${variable}`, '--app', app.slug, '--verbose'];
  for (const words of [set, [...set, '--execute'], ['env', 'list', '--app', app.slug, '--json']]) {
    const { code, stdout, stderr } = await svc(words);
    expect([code, stderr]).toEqual([0, expect.any(String)]);
    texts.push(stdout, stderr);
  }

  const password = secret('password of a connector', `connector ${Bun.randomUUIDv7()}`);
  // Nothing listens there, so that the test of the connection fails.
  const connection = { host: '127.0.0.1', port: 1, database: 'db', username: 'reader', password };
  const connectors = `${t.base}/connectors`;
  const body = { name: 'Warehouse', kind: 'postgres', connection };
  overheard(await t.admin.call('POST', `${connectors}?dry_run=true`, body));
  const { id } = await done(t.admin.call('POST', connectors, body));
  overheard(await t.admin.call('GET', `${connectors}/${id}`));
  overheard(await t.admin.call('POST', `${connectors}/${id}/test`));
  const changed = { ...connection, password: secret('second password', `second ${Bun.randomUUIDv7()}`) };
  overheard(await t.admin.call('PATCH', `${connectors}/${id}`, { connection: changed }));

  const accounts = `${app.base}/service-accounts`;
  await done(t.member.call('POST', accounts, { name: 'ci', actions: ['deploy'] }));
  const made = await done(t.member.call('POST', `${accounts}/ci/tokens`, { name: 'nightly' }));
  const asAccount = caller(server, { authorization: `Bearer ${secret('service token', made.secret)}` });
  for (const path of [app.base, `${accounts}/ci/tokens`]) overheard(await asAccount('GET', path));
  overheard(await t.member.call('GET', `${accounts}/ci/tokens`));
}

/** Tokens for rows, commands of the operator, and invalid requests. */
async function tokensAndMistakes(): Promise<void> {
  const key = secret('idempotency key', Bun.randomUUIDv7());
  const made = await t.admin.call('POST', `${t.base}/pats`, { name: 'once' }, { 'idempotency-key': key });
  const again = await t.admin.call('POST', `${t.base}/pats`, { name: 'once' }, { 'idempotency-key': key });
  expect(again.body.secret).toBe(made.body.secret);
  const pat = secret('token for rows', made.body.secret);
  const svc = svcFor(server, { token: t.member.token, tenant: t.slug });
  const created = await svc(['pats', 'create', '--name', 'by svc', '--execute', '--json', '--verbose']);
  const other = secret('token for rows by svc', created.json<{ secret: string }>().secret);
  texts.push(created.stderr);

  const rows = caller(server, { 'x-api-key': pat });
  overheard(await rows('GET', `/data/${t.slug}/shop/orders`));
  overheard(await rows('GET', '/api/v1/me'));
  overheard(await t.admin.call('GET', `${t.base}/pats?all=true`));
  // A secret in the wrong field is still a secret.
  const odd = caller(server, {});
  for (const value of [pat, other, t.member.token]) {
    for (const name of ['access_token', 'token', 'api_key', 'key'])
      overheard(await odd('GET', `/api/v1/me?${name}=${value}`));
    overheard(await odd('GET', `/oauth/me?access_token=${value}`));
    overheard(await caller(server, { authorization: `Basic ${value}` })('GET', '/api/v1/me'));
    overheard(
      await caller(server, { authorization: `Bearer ${value}`, 'x-api-key': value })('GET', '/api/v1/me'),
    );
    overheard(await t.admin.call('POST', `${t.base}/connectors`, `{"name": "${value}", broken`));
    overheard(
      await t.admin.call('POST', `${t.base}/presets`, { name: value, actions: ['read'], secret: value }),
    );
  }
  overheard(await odd('GET', `/api/v1/tenants/${pat}/pats`));
  overheard(await odd('GET', `/data/${pat}/shop/orders`));

  const password = secret('new password', `new password ${Bun.randomUUIDv7()}`);
  await admin(server, ['users', 'set-password', user.id, '--password-stdin'], `${password}\n`);
  const issued = await admin(server, ['tokens', 'issue', '--user', user.id, '--ttl', '10m']);
  secret('issued token', issued.access_token);
  await admin(server, ['users', 'suspend', user.id]);
  expect((await t.admin.call('DELETE', `${t.base}/pats/${made.body.id}`)).status).toBe(200);
}

test('no log, response, audit entry or table contains a secret', async () => {
  expect(secrets.size).toBeGreaterThan(20);
  // The search works: the log is not empty, and ids that are no secret are in the tables.
  expect(server.output()).toContain('"path":"/oauth/token"');
  const tables = await database.rows();
  expect(Object.values(tables).flat().join('\n')).toContain(user.id);

  const audit: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = cursor === '' ? '' : `&cursor=${cursor}`;
    const { body }: Answered = await t.admin.call('GET', `${t.base}/audit?per_page=200${query}`);
    audit.push(...body.items);
    cursor = body.next_cursor;
  }
  expect(audit.length).toBeGreaterThan(5);
  const places: Record<string, string> = {
    'output of the server': server.output(),
    'answers and messages': texts.join('\n'),
    audit: JSON.stringify(audit),
    metrics: await readMetrics(server),
    ...Object.fromEntries(Object.entries(tables).map(([name, rows]) => [`table ${name}`, rows.join('\n')])),
  };
  const found = Object.entries(places).flatMap(([place, text]) =>
    everyForm()
      .filter(([, form]) => text.includes(form))
      .map(([name]) => `${name} in ${place}`),
  );
  expect(found).toEqual([]);
  console.log(
    `secrets: ${secrets.size} secrets, ${everyForm().length} forms, searched in ${Object.keys(places).length} places: ${found.length} found`,
  );
});

/** Tables show current rows; the database files also contain deleted rows and the write-ahead log. */
test('no file of the data folder contains a secret but the two that store secrets', async () => {
  const patterns = join(temporaryFolder(), 'patterns');
  await database.query('checkpoint');
  writeFileSync(
    patterns,
    `${everyForm()
      .map(([, form]) => form)
      .join('\n')}\n`,
  );
  const kept = ['postgres.json', 'local-login.json'];
  for (const name of kept) expect(existsSync(join(server.dataDir, name))).toBeTrue();
  const grep = ['grep', '-rlaF', '-f', patterns, ...kept.map((name) => `--exclude=${name}`), server.dataDir];
  const { code, stdout } = await run(grep);
  expect([code, stdout]).toEqual([1, '']);
  const control = await run(['grep', '-rlaF', user.id, join(server.dataDir, 'postgres', 'base')]);
  expect(control.stdout).not.toBe('');
});

/** The secret itself, and its form in a header, a bytea or a URL. */
function everyForm(): [string, string][] {
  return [...secrets].flatMap(([name, value]): [string, string][] => [
    [name, value],
    [`${name} (base64)`, Buffer.from(value).toString('base64').replace(/=+$/, '')],
    [`${name} (hex)`, Buffer.from(value).toString('hex')],
    ...(encodeURIComponent(value) === value
      ? []
      : [[`${name} (encoded)`, encodeURIComponent(value)] as [string, string]]),
  ]);
}
