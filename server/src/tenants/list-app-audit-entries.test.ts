import { afterAll, beforeAll, expect, test } from 'bun:test';
import { copyWithApps, newApp } from '../apps/testing.ts';
import { loginOf, type ServerCopy } from '../identity/testing.ts';
import { newTenant, newUser, type TestDatabase, testDatabase } from '../testing.ts';

let database: TestDatabase;
let server: ServerCopy;

beforeAll(async () => {
  database = await testDatabase();
  server = await copyWithApps(database);
});
afterAll(async () => {
  await server.stop();
  await database.close();
});

/** An app with an owner and a co-owner beside another app, in a tenant where other things happen too. */
async function world() {
  const { tenant, admin, member: owner } = await newTenant(database.db);
  const coOwner = await newUser(database.db, tenant.id);
  const stranger = await newUser(database.db, tenant.id);
  const app = await newApp(database.db, tenant, owner, { coOwners: [coOwner] });
  const other = await newApp(database.db, tenant, stranger, { visibility: 'public' });
  const logins = {
    admin: await loginOf(database, admin),
    owner: await loginOf(database, owner),
    coOwner: await loginOf(database, coOwner),
    stranger: await loginOf(database, stranger),
  };
  const path = `/api/v1/tenants/${tenant.slug}`;
  await server.call(logins.admin, 'PATCH', path, { name: 'Acme' });
  await server.call(logins.owner, 'PATCH', `${path}/apps/${app.slug}`, { summary: 'One' });
  await server.call(logins.stranger, 'PATCH', `${path}/apps/${other.slug}`, { summary: 'Other' });
  await server.call(logins.owner, 'PATCH', `${path}/apps/${app.slug}`, { summary: 'Two' });
  const audit = (who: keyof typeof logins, query = '', of = app.slug) =>
    server.call(logins[who], 'GET', `${path}/apps/${of}/audit${query}`);
  return { app, other, logins, path, audit };
}

type Entry = { seq: number; action: string; target: { id: string } };
const actions = ({ body }: { body: { items: Entry[] } }) => body.items.map(({ action }) => action);

test("owners and admins read what was changed of an app, newest first, and nothing of the tenant's else", async () => {
  const { audit, app, other } = await world();
  const expected = ['apps.update', 'apps.update', 'coOwners.add', 'apps.create'];
  for (const who of ['owner', 'coOwner', 'admin'] as const) {
    expect([who, actions(await audit(who)), actions(await audit(who, '', app.id))]).toEqual([
      who,
      expected,
      expected,
    ]);
  }
  const first = await audit('owner', '?per_page=3');
  const second = await audit('owner', `?per_page=3&cursor=${first.body.next_cursor}`);
  expect([...actions(first), ...actions(second)]).toEqual(expected);
  expect(second.body.next_cursor).toBeNull();
  expect(actions(await audit('owner', '?action=apps.create'))).toEqual(['apps.create']);
  for (const query of [`?target_id=${other.id}`, '?action=tenants.update'])
    expect([query, actions(await audit('owner', query))]).toEqual([query, []]);
});

test('who neither owns nor governs the app is told nothing, and an owner nothing of the tenant', async () => {
  const { audit, other, logins, path } = await world();
  expect((await audit('stranger')).status).toBe(404);
  const seen = await audit('owner', '', other.slug);
  expect([seen.status, seen.body.code]).toEqual([403, 'forbidden']);
  expect((await server.call(logins.owner, 'GET', `${path}/audit`)).status).toBe(403);
});
