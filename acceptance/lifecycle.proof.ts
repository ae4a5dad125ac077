import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../scripts/free-port.ts';
import { TestBrowser } from '../server/src/identity/provider/browser-testing.ts';
import { admin, run, svcFor } from './support/commands.ts';
import { createDatabase, databaseUrlOf } from './support/database.ts';
import { newTenant } from './support/people.ts';
import {
  isAlive,
  postmasterOf,
  type RunningServer,
  root,
  startEmbedded,
  temporaryFolder,
} from './support/server.ts';
import { onTerminal } from './support/terminal.ts';
import { until } from './support/until.ts';

test('survives kill -9 of the server, taking over the running database, and of both together', async () => {
  const first = await startEmbedded();
  const { dataDir, port } = first;
  const t = await newTenant(first);
  const answers = async () => (await t.member.call('GET', `${t.base}/me/grants`)).status;
  const postmaster = postmasterOf(first);
  first.signal('SIGKILL');
  await first.exited;
  expect(isAlive(postmaster)).toBe(true);
  const second = await startEmbedded({ dataDir, port });
  expect([await answers(), postmasterOf(second)]).toEqual([200, postmaster]);
  process.kill(postmaster, 'SIGKILL');
  second.signal('SIGKILL');
  await second.exited;
  await until('PostgreSQL has ended', async () => !isAlive(postmaster));
  const third = await startEmbedded({ dataDir, port });
  expect(await answers()).toBe(200);
  const last = postmasterOf(third);
  await third.stop();
  expect(isAlive(last)).toBe(false);
});

describe('two servers that start for the first time', () => {
  let one: RunningServer;
  let unseeded: RunningServer;
  beforeAll(async () => {
    [one, unseeded] = await Promise.all([
      startEmbedded({ finds: 'nothing' }),
      startEmbedded({ finds: 'nothing', env: { SVC_SEED: 'none' } }),
    ]);
  });
  afterAll(() => Promise.all([one?.stop(), unseeded?.stop()]));

  test('have data dirs of their own, each for one server at a time', async () => {
    const refused = await run([process.execPath, join(root, 'server/src/main.ts')], {
      env: { ...one.env, SVC_PORT: String(freePort()) },
    });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(String(one.pid))]);
    const t = await newTenant(one);
    const elsewhere = await fetch(`${unseeded.baseUrl}/api/v1/me`, {
      headers: { authorization: `Bearer ${t.admin.token}` },
    });
    expect(elsewhere.status).toBe(401);
  });

  test('write the password of the first admin into a file of their own user where there is no terminal', async () => {
    const file = join(one.dataDir, 'demo-password');
    const password = readFileSync(file, 'utf8').trim();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(one.output()).toContain(file);
    expect(one.output()).not.toContain(password);
    const browser = new TestBrowser(one.baseUrl);
    const page = await browser.open('/login');
    const typed = { email: 'admin@demo.localhost', password };
    expect((await browser.press(page, 'Sign in', typed)).status).toBe(200);
  });

  test('print the password of the first admin on a terminal, and into no file', async () => {
    const [dataDir, port] = [join(temporaryFolder(), 'data'), freePort()];
    const terminal = onTerminal([process.execPath, join(root, 'server/src/main.ts')], {
      ...unseeded.env,
      SVC_DATABASE_URL: await createDatabase(databaseUrlOf(unseeded), 'terminal'),
      SVC_DATA_DIR: dataDir,
      SVC_PORT: String(port),
      SVC_SEED: 'demo',
    });
    await terminal.sees('svc is ready on');
    const [, password = ''] = /password (\S+)\s+\(shown once\)/.exec(terminal.shown()) ?? [];
    expect(existsSync(join(dataDir, 'demo-password'))).toBe(false);
    const browser = new TestBrowser(`http://localhost:${port}`);
    const typed = { email: 'admin@demo.localhost', password };
    expect((await browser.press(await browser.open('/login'), 'Sign in', typed)).status).toBe(200);
    terminal.type('\x03');
    expect(await terminal.exited).toBe(0);
  });

  test('with SVC_SEED=none create no tenant, no user and no local login', async () => {
    expect(await admin<{ items: unknown[] }>(unseeded, ['tenants', 'list'])).toMatchObject({ items: [] });
    expect(existsSync(join(unseeded.dataDir, 'local-login.json'))).toBe(false);
    expect((await svcFor(unseeded)(['login', '--local'])).code).toBe(3);
  });
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
