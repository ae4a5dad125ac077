import { expect, test } from 'bun:test';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Browser } from './support/browser.ts';
import { admin, run, svcFor } from './support/commands.ts';
import { newTenant } from './support/people.ts';
import { freePort, isAlive, postmasterOf, root, startEmbedded, temporaryFolder } from './support/server.ts';

import { until } from './support/until.ts';

test('survives kill -9 of the server, and takes over the running database', async () => {
  const first = await startEmbedded();
  const t = await newTenant(first);
  const postmaster = postmasterOf(first);
  first.signal('SIGKILL');
  await first.exited;
  expect(isAlive(postmaster)).toBe(true);
  const second = await startEmbedded({ dataDir: first.dataDir, port: first.port });
  expect((await t.member.call('GET', `${t.base}/me/grants`)).status).toBe(200);
  await second.stop();
  expect(isAlive(postmaster)).toBe(false);
});

test('survives kill -9 of server and database together', async () => {
  const first = await startEmbedded();
  const t = await newTenant(first);
  const postmaster = postmasterOf(first);
  process.kill(postmaster, 'SIGKILL');
  first.signal('SIGKILL');
  await first.exited;
  await until('PostgreSQL has ended', async () => !isAlive(postmaster));
  const second = await startEmbedded({ dataDir: first.dataDir, port: first.port });
  expect((await t.member.call('GET', `${t.base}/me/grants`)).status).toBe(200);
  await second.stop();
});

test('lets one server use a data dir at a time, and keeps two data dirs separate', async () => {
  const [one, other] = await Promise.all([
    startEmbedded({ finds: 'nothing' }),
    startEmbedded({ finds: 'nothing' }),
  ]);
  const refused = await run([process.execPath, join(root, 'server/src/main.ts')], {
    env: { ...one.env, SVC_PORT: String(freePort()) },
  });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(String(one.pid))]);
  const t = await newTenant(one);
  const elsewhere = await fetch(`${other.baseUrl}/api/v1/me`, {
    headers: { authorization: `Bearer ${t.admin.token}` },
  });
  expect(elsewhere.status).toBe(401);
  await Promise.all([one.stop(), other.stop()]);
});

test('writes the password of the first admin into a file of its own user where there is no terminal', async () => {
  const server = await startEmbedded({ finds: 'nothing' });
  const file = join(server.dataDir, 'demo-password');
  const password = readFileSync(file, 'utf8').trim();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(server.output()).toContain(file);
  expect(server.output()).not.toContain(password);
  const browser = new Browser(server.baseUrl);
  const page = await browser.open('/login');
  const typed = { email: 'admin@demo.localhost', password };
  expect((await browser.press(page, 'Sign in', typed)).status).toBe(200);
  await server.stop();
});

test('with SVC_SEED=none creates no tenant, no user and no local login', async () => {
  const server = await startEmbedded({ finds: 'nothing', env: { SVC_SEED: 'none' } });
  expect(await admin<{ items: unknown[] }>(server, ['tenants', 'list'])).toMatchObject({ items: [] });
  expect(existsSync(join(server.dataDir, 'local-login.json'))).toBe(false);
  expect((await svcFor(server)(['login', '--local'])).code).toBe(3);
  await server.stop();
});

test('npm start reports once that its database does not answer', async () => {
  const ran = await run([process.execPath, join(root, 'server/src/supervise.ts')], {
    env: {
      SVC_DATABASE_URL: `postgres://nobody@127.0.0.1:${freePort()}/nothing`,
      SVC_PORT: String(freePort()),
      SVC_DATA_DIR: join(temporaryFolder(), 'data'),
    },
  });
  expect(ran.code).toBe(1);
  expect(ran.stderr.match(/svc could not start/g)).toHaveLength(1);
});
