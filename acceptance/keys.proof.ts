import { expect, test } from 'bun:test';
import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { TestBrowser } from '../server/src/identity/provider/browser-testing.ts';
import { type NodeApp, newNodeApp, nodeApp } from './support/apps.ts';
import { admin, run } from './support/commands.ts';
import { queryDatabase } from './support/database.ts';
import { bearer, caller, done, newApp, newPasswordUser, newTenant } from './support/people.ts';
import { rowsWorld } from './support/rows.ts';
import {
  type RunningServer,
  root,
  startEmbedded,
  startServer,
  startTwo,
  temporaryFolder,
} from './support/server.ts';
import { keepAsking, until } from './support/until.ts';

interface KeyState {
  name: string;
  kind: 'sealing' | 'signing' | 'secret';
  generation: number;
  state: string;
  master_key: string;
}

const listKeys = async (server: RunningServer) =>
  (await admin<{ items: KeyState[] }>(server, ['keys', 'list'])).items;

/** Skips the time for which a new generation is announced or a previous one accepted. */
async function passTime(server: RunningServer, interval: string): Promise<void> {
  const change =
    'update svc.key_generations set active_at = active_at - $1::interval, created_at = created_at - $1::interval';
  await queryDatabase(server, change, [interval]);
  await queryDatabase(server, "select pg_notify('svc_changed', 'keys')");
}

/** The job also runs every minute. */
const runRetireJob = (server: RunningServer) =>
  queryDatabase(server, `insert into pgboss.job (name, data) values ('sweeps', '{"sweep": "keys.retire"}')`);

const stateOf = async (server: RunningServer, condition: (key: KeyState) => boolean) =>
  (await listKeys(server)).every(condition);

/** Repeats every request until `stop`, and returns how many were sent and which failed. */
function repeatRequests(requests: Record<string, () => Promise<number>>) {
  const counts: Record<string, number> = {};
  const failures: string[] = [];
  const loops = Object.entries(requests).map(([name, request]) =>
    keepAsking(
      async () => {
        const status = await request().catch((error: unknown) => String(error));
        counts[name] = (counts[name] ?? 0) + 1;
        if (typeof status === 'string' || status >= 400) failures.push(`${name}: ${status}`);
      },
      { pauseMs: 100 },
    ),
  );
  return {
    counts,
    failures,
    stop: () => Promise.all(loops.map((loop) => loop.stop())),
  };
}

async function deploy(app: NodeApp, version: string): Promise<void> {
  app.copy.write(nodeApp(version));
  const commit = await app.copy.push();
  const found = await until(
    `${commit} is fetched`,
    async () => (await app.deployments()).find((each) => each.commit === commit),
    60_000,
  );
  expect(await app.ended(found, 120_000)).toMatchObject({ state: 'live' });
  await app.answers(version, 30_000);
}

/** An app in a tenant of its own: changes in one tenant wait for each other. */
async function appWithUse(server: RunningServer, ...actions: string[]) {
  const tenant = await newTenant(server);
  const { call } = tenant.member;
  const { base } = await newApp(tenant, { owner: tenant.member });
  for (const action of actions) await done(call('POST', `${base}/${action}`));
  return { call, base };
}

test.concurrent('every key is rotated under requests, and none of them fails', async () => {
  const server = await startEmbedded();
  const tenant = await newTenant(server);
  const owner = tenant.member;
  const app = await newNodeApp(tenant, nodeApp('one'));
  await done(owner.call('PATCH', `${app.base}/env`, { set: { GREETING: 'hello' } }));
  await deploy(app, 'one');
  const [before, after, variables, passwords] = await Promise.all([
    appWithUse(server, 'storage/enable'),
    appWithUse(server, 'storage/enable'),
    appWithUse(server),
    appWithUse(server, 'raw-db/enable'),
  ]);
  const sign = async ({ call, base }: typeof before): Promise<string> =>
    (await done(call('POST', `${base}/storage/upload-url`, { key: 'a.txt' }))).put_url;
  const upload = async (url: string) =>
    (await fetch(url, { method: 'PUT', headers: { 'content-type': 'application/octet-stream' }, body: 'a' }))
      .status;
  const early = await sign(before);
  const user = await newPasswordUser(server, tenant.slug);
  const browser = new TestBrowser(server.baseUrl);
  const page = await browser.open('/login');
  await browser.press(page, 'Sign in', { email: user.email, password: user.password });
  let count = 0;

  const requests = repeatRequests({
    'signed URL of before': () => upload(early),
    'new signed URL': async () => upload(await sign(after)),
    'environment variable': async () =>
      (await variables.call('PATCH', `${variables.base}/env`, { set: { COUNT: String(++count) } })).status,
    'git host': async () => (await owner.call('GET', `${tenant.base}/git-host/installations`)).status,
    'app behind the edge': async () => (await app.ask()).status,
    'session of before': async () => {
      const { status, html } = await browser.open('/login');
      return html.includes('name="password"') ? 401 : status;
    },
    'published keys': async () => {
      const sets = await Promise.all(
        ['/oauth/jwks', '/.well-known/svc-user-keys.json'].map(async (path) =>
          (await fetch(server.baseUrl + path)).json(),
        ),
      );
      return sets.every(({ keys }) => keys.length > 0) ? 200 : 500;
    },
    'password of a raw database': async () =>
      (await passwords.call('POST', `${passwords.base}/raw-db/rotate`)).status,
  });
  const keys = await listKeys(server);
  expect(keys.length).toBeGreaterThan(12);
  for (const { name } of keys) await admin(server, ['keys', 'rotate', name]);
  await until(
    'the keys that are not published are in use',
    () => stateOf(server, ({ kind, generation }) => kind === 'signing' || generation === 2),
    60_000,
  );
  const published = async (path: string) => (await (await fetch(server.baseUrl + path)).json()).keys.length;
  expect(await published('/.well-known/svc-user-keys.json')).toBe(2);
  expect(await published('/oauth/jwks')).toBe(4);
  await deploy(app, 'two');
  await passTime(server, '11 minutes');
  await until('all keys are in use', () => stateOf(server, ({ generation }) => generation === 2), 60_000);
  await runRetireJob(server);
  await until(
    'all values are sealed again',
    () => stateOf(server, ({ state }) => !state.includes('to seal again')),
    180_000,
  );
  await deploy(app, 'three');
  await requests.stop();
  const logged = server.output().match(/^.*"(?:request failed|internal server error)".*$/gm) ?? [];
  expect({ failures: requests.failures, logged: requests.failures.length > 0 ? logged : [] }).toEqual({
    failures: [],
    logged: [],
  });
  for (const made of Object.values(requests.counts)) expect(made).toBeGreaterThan(2);

  await passTime(server, '30 days');
  await runRetireJob(server);
  await until(
    'the previous generations are deleted',
    () => stateOf(server, ({ state }) => state === 'in use'),
    180_000,
  );
  expect(await upload(early)).toBe(403);
  expect(await upload(await sign(after))).toBeLessThan(300);
  await deploy(app, 'four');
  const audit = await queryDatabase(
    server,
    "select action, count(*)::int as count from svc.audit_entries where action like 'keys.%' group by 1 order by 1",
  );
  expect(audit).toEqual([
    { action: 'keys.delete', count: keys.length },
    { action: 'keys.rotate', count: keys.length },
  ]);
});

test.concurrent('servers on one database accept what another signed, before, during and after a rotation', async () => {
  const [one, two] = await startTwo();
  const world = await rowsWorld(one);
  const table = await world.table(['a:int']);
  await table.batch(Array.from({ length: 30 }, (_, a) => ({ a })));
  const calls = [one, two].map((server) => caller(server, bearer(world.owner)));
  let turn = 0;
  const requests = repeatRequests({
    cursor: async () => {
      const [first, second] = turn++ % 2 === 0 ? calls : calls.toReversed();
      const { body } = await first!('GET', `${table.path}?per_page=10`);
      return (await second!('GET', `${table.path}?per_page=10&cursor=${body.next_cursor}`)).status;
    },
  });
  await admin(one, ['keys', 'rotate', 'rows.cursor_key']);
  await until(
    'the key is in use',
    () => stateOf(two, ({ name, generation }) => name !== 'rows.cursor_key' || generation === 2),
    60_000,
  );
  const seen = requests.counts.cursor ?? 0;
  await until('more requests are made', async () => (requests.counts.cursor ?? 0) > seen + 20, 60_000);
  await requests.stop();
  expect(requests.failures).toEqual([]);
});

test.concurrent('a master key encrypts the keys; the server starts only with it, and it is exchanged while it runs', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'master.key');
  const first = await startEmbedded();
  const tenant = await newTenant(first);
  const app = await newApp(tenant, { owner: tenant.member });
  await done(tenant.member.call('PATCH', `${app.base}/env`, { set: { GREETING: 'hello' } }));
  const change = (server: RunningServer, value: string) =>
    caller(server, bearer(tenant.member))('PATCH', `${app.base}/env`, { set: { GREETING: value } });
  const svcAdmin = (args: string[], env: Record<string, string>) =>
    run([join(root, 'svc-admin'), ...args, '--json'], { env: { ...first.env, ...env } });
  const doctor = async (env: Record<string, string>) =>
    (await svcAdmin(['doctor'], env))
      .json<{ checks: { name: string }[] }>()
      .checks.find(({ name }) => name === 'keys');
  expect(await doctor({})).toMatchObject({
    status: 'warning',
    detail: expect.stringMatching(/^(\d+) of \1 are stored unencrypted/),
    hint: expect.stringContaining('keys create-master-key'),
  });
  const created = (await svcAdmin(['keys', 'create-master-key', '--to', file], {})).json<{
    master_key: string;
  }>();
  await first.stop();

  const { dataDir } = first;
  const withKey = { SVC_MASTER_KEY_FILE: file };
  const second = await startEmbedded({ dataDir, env: withKey });
  expect(await stateOf(second, ({ master_key }) => master_key === created.master_key)).toBe(true);
  expect(await doctor(second.env)).toMatchObject({
    status: 'ok',
    detail: expect.stringMatching(/^All \d+ are encrypted/),
  });
  expect((await change(second, 'again')).status).toBe(200);
  const values = await queryDatabase(second, 'select value from svc.key_generations');
  for (const { value } of values) expect(String(value)).toMatch(/^[A-Za-z0-9+/]+=*$/);

  const previous = join(folder, 'previous.key');
  const next = join(folder, 'next.key');
  const { master_key } = (await svcAdmin(['keys', 'create-master-key', '--to', next], {})).json<
    typeof created
  >();
  renameSync(file, previous);
  renameSync(next, file);
  expect((await change(second, 'exchanged')).status).toBe(200);
  const rewrapped = await svcAdmin(['keys', 'rewrap', '--from-file', previous], { ...second.env });
  expect([rewrapped.code, rewrapped.json()]).toMatchObject([0, { master_key }]);
  expect((await change(second, 'rewrapped')).status).toBe(200);
  await second.stop();

  const refused = async (env: Record<string, string>) =>
    startServer({ dataDir, env: { SVC_DATABASE_URL: '', ...env } }).then(
      () => 'started',
      (error: Error) => error.message,
    );
  expect(await refused({})).toContain(
    `SVC_MASTER_KEY_FILE is required: the keys in the database are encrypted with`,
  );
  expect(await refused({ SVC_MASTER_KEY_FILE: previous })).toContain(
    `but the keys in the database are encrypted with`,
  );
  expect(readFileSync(file, 'utf8')).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);
  const third = await startEmbedded({ dataDir, env: withKey });
  expect((await change(third, 'restarted')).status).toBe(200);
});
