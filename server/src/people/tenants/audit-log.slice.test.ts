import { expect, test } from 'bun:test';
import { newApp, startAppServer } from '../../apps/record/testing.ts';
import { loginHeaders, useServer } from '../../identity/provider/testing.ts';
import { newTenant, newUser } from '../../testing.ts';

const { database, server } = useServer(startAppServer);

async function world() {
  const { tenant, admin, member: owner } = await newTenant(database.db);
  const coOwner = await newUser(database.db, tenant.id);
  const stranger = await newUser(database.db, tenant.id);
  const app = await newApp(database.db, tenant, owner, { coOwners: [coOwner] });
  const other = await newApp(database.db, tenant, stranger, { visibility: 'public' });
  const logins = {
    admin: await loginHeaders(database, admin),
    owner: await loginHeaders(database, owner),
    coOwner: await loginHeaders(database, coOwner),
    stranger: await loginHeaders(database, stranger),
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

test("owners and admins read an app's audit entries, newest first, and no others", async () => {
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

test("others cannot read an app's audit, and an owner cannot read the tenant's", async () => {
  const { audit, other, logins, path } = await world();
  expect((await audit('stranger')).status).toBe(404);
  const seen = await audit('owner', '', other.slug);
  expect([seen.status, seen.body.code]).toEqual([403, 'forbidden']);
  expect((await server.call(logins.owner, 'GET', `${path}/audit`)).status).toBe(403);
});
