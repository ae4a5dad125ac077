import { beforeAll, describe, expect, test } from 'bun:test';
import { type Svc, svcFor } from './support/commands.ts';
import { type App, type Call, caller, done, newApp } from './support/people.ts';
import { type Files, folderOf } from './support/server.ts';
import { askSite, siteOf, visitorCookie } from './support/sites.ts';
import { until } from './support/until.ts';
import { newWorld, type World } from './support/world.ts';

let world: World;
let asOwner: Svc;
let app: App;
let ask: (path: string) => Promise<{ status: number; text: string }>;

/** A program that uses the tables and the storage of its app with nothing but what the platform gives it. */
const program = `
import { createServer } from 'node:http';
import { createClient } from './sdk/index.js';
const client = createClient();
const visits = client.table('visits');
async function answer(path) {
  if (path === '/') return 'healthy';
  if (path === '/env') return { token: process.env.SVC_APP_TOKEN, url: process.env.SVC_APP_TOKEN_URL };
  const { row } = await visits.insert({ path });
  await client.storage.put('visits/' + row.id + '.txt', 'visit of ' + path, { contentType: 'text/plain' });
  const text = await (await client.storage.get('visits/' + row.id + '.txt')).text();
  const { items } = await client.storage.list({ prefix: 'visits/' });
  if (path === '/delete') await client.storage.delete(items[0].key);
  return { row, text, keys: items.map(({ key }) => key), count: await visits.count() };
}
createServer((request, response) => {
  answer(request.url).then(
    (value) => response.end(JSON.stringify(value)),
    (error) => response.writeHead(500).end(String(error)),
  );
}).listen(process.env.PORT);
`;

/** The files of the SDK as `npm i <base>/sdk.tgz` would install them. */
async function sdkFiles(baseUrl: string): Promise<Files> {
  const archive = new Bun.Archive(await (await fetch(`${baseUrl}/sdk.tgz`)).bytes());
  const files = await archive.files();
  return { 'sdk/index.js': await files.get('package/index.js')!.text() };
}

beforeAll(async () => {
  world = await newWorld();
  const { O } = world.people;
  asOwner = svcFor(world.tenant.server, { token: O.token, tenant: world.tenant.slug });
  app = await newApp(world.tenant, { owner: O }, { deploy_method: 'docker' });
  const columns = ['owner:uuid:nullable', 'path:text'];
  await done(O.call('POST', `${app.base}/tables`, { name: 'visits', owner_column: 'owner', columns }));
  await done(O.call('POST', `${app.base}/storage/enable`));
  const source: Files = {
    'svc.yaml': 'start: node server.mjs\n',
    'server.mjs': program,
    ...(await sdkFiles(world.tenant.server.baseUrl)),
  };
  const deployed = await asOwner(['deploy', '--app', app.id, '--from-dir', folderOf(source), '--execute']);
  expect([deployed.code, deployed.stderr]).toEqual([0, expect.any(String)]);
  const site = siteOf(world.tenant, app);
  const headers = { cookie: await visitorCookie(site, O) };
  ask = (path) => askSite(site, path, { headers });
});

const asApp = (token: string): Call => caller(world.tenant.server, { authorization: `Bearer ${token}` });
const environment = async () => JSON.parse((await ask('/env')).text) as { token: string; url: string };
/** The program may have another address for the platform. */
const renew = (url: string) => fetch(world.tenant.server.baseUrl + new URL(url).pathname, { method: 'POST' });

describe('a running app', () => {
  test('reads and writes its own table and storage with the SDK and without any configuration', async () => {
    const answer = await ask('/one');
    expect(answer.status, answer.text).toBe(200);
    const { row, text, keys, count } = JSON.parse(answer.text);
    expect({ owner: row.owner, text, count }).toEqual({ owner: app.id, text: 'visit of /one', count: 1 });
    expect(keys).toEqual([`visits/${row.id}.txt`]);
    expect((await ask('/delete')).status).toBe(200);
    const audit = await done(world.people.O.call('GET', `${app.base}/audit`));
    expect(audit.items[0]).toMatchObject({
      action: 'storage.delete',
      actor: { kind: 'app', id: app.id, name: `app ${app.slug}` },
    });
  });

  test('is subject to the rules of its tables', async () => {
    const { O } = world.people;
    const access = { read: ['app'], insert: ['role:manager'], update: ['none'], delete: ['none'] };
    const table = { name: 'prices', columns: ['amount:int'], access };
    await done(O.call('POST', `${app.base}/tables`, table));
    const rows = `/data/${world.tenant.slug}/${app.slug}/prices`;
    const { id } = await done(O.call('POST', rows, { amount: 5 }));
    const call = asApp((await environment()).token);
    const refused = [
      await call('POST', rows, { amount: 6 }),
      await call('PATCH', `${rows}/${id}`, { amount: 7 }),
      await call('DELETE', `${rows}/${id}`),
    ];
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(Array(3).fill([403, 'forbidden']));
    expect((await done(call('GET', rows))).data).toEqual([expect.objectContaining({ id, amount: 5 })]);
  });

  test('cannot use its token for anything else', async () => {
    const { token, url } = await environment();
    const call = asApp(token);
    const { tenant, people } = world;
    const other = await newApp(tenant, { owner: people.O });
    const data = (slug: string, table = 'visits') => `/data/${tenant.slug}/${slug}/${table}`;
    await done(people.O.call('POST', `${other.base}/tables`, { name: 'visits', columns: ['path:text'] }));
    const status = async (method: string, path: string, body?: unknown) =>
      (await call(method, path, body)).status;
    expect(await status('GET', data(app.slug))).toBe(200);
    expect(await status('GET', data(other.slug))).toBe(404);
    expect(await status('GET', `${other.base}/storage/objects`)).toBe(404);
    expect(await status('GET', `${app.base}/tables`)).toBe(403);
    expect(await status('POST', `${app.base}/restart`)).toBe(403);
    expect(await status('DELETE', app.base)).toBe(403);
    expect(await status('GET', '/api/v1/me')).toBe(403);
    expect(await status('GET', `${tenant.base}/members`)).toBe(403);
    expect(await status('POST', `${app.base}/service-accounts`, { name: 'me', actions: ['deploy'] })).toBe(
      403,
    );
    expect(await status('GET', `/git/api/v3/user`)).not.toBe(200);
    expect(url).not.toContain(token);
  });

  test('renews its token, and both end when its instance is replaced', async () => {
    const { token, url } = await environment();
    const renewed = await renew(url);
    const { access_token, expires_in } = await renewed.json();
    expect([renewed.status, expires_in]).toEqual([200, 3600]);
    const rows = `/data/${world.tenant.slug}/${app.slug}/visits`;
    const statuses = () =>
      Promise.all([token, access_token].map(async (it) => (await asApp(it)('GET', rows)).status));
    expect(await statuses()).toEqual([200, 200]);
    expect((await asOwner(['apps', 'restart', app.id, '--execute'])).code).toBe(0);
    await until(
      'the tokens of the first instance have ended',
      async () => (await statuses()).every((it) => it === 401),
      60_000,
    );
    expect((await renew(url)).status).toBe(401);
    expect((await ask('/two')).status).toBe(200);
  });

  test('loses its access at once when it is suspended', async () => {
    const { token, url } = await environment();
    const rows = `/data/${world.tenant.slug}/${app.slug}/visits`;
    expect((await asApp(token)('GET', rows)).status).toBe(200);
    await done(world.people.O.call('POST', `${app.base}/suspend`));
    expect((await asApp(token)('GET', rows)).status).toBe(401);
    expect((await renew(url)).status).toBe(401);
  });
});
