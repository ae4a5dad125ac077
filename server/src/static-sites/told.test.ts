import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { toldIn, whoWasTold } from '../notifications/testing.ts';
import { type TestDatabase, testDatabase } from '../testing.ts';
import { copyWithSites, type SitesCopy, siteWorld } from './testing.ts';

let database: TestDatabase;
let server: SitesCopy;
beforeAll(async () => {
  database = await testDatabase();
  server = await copyWithSites(database);
});
afterAll(async () => {
  await server.stop();
  await database.close();
});

/** A public app with one release that is staged. */
async function staged() {
  const world = await siteWorld(database, server, { visibility: 'public' });
  await world.call('POST', '/site/staging/enable');
  const id = await world.release({ 'index.html': 'one' }, { on_finalize: 'deploy' });
  const told = () => whoWasTold(database.db, world.tenant, world.people);
  return { ...world, id, told };
}

test('admins are told who asks for a promotion, owners how it was decided; who acts is not', async () => {
  const { id, move, told, tenant, app } = await staged();
  await move(id, 'promote-request', 'coOwner', { note: 'the new prices' });
  expect(await told()).toEqual(['promotion_requested: admin, otherAdmin']);
  const [asked] = await toldIn(database.db, tenant);
  expect(asked?.text).toContain('the new prices');
  expect(asked?.path).toBe(`/t/${tenant.slug}/apps/${app.slug}/releases/${id}`);
  expect((await move(id, 'promote-approve', 'admin', { note: 'fine' })).status).toBe(200);
  expect(await told()).toEqual([
    'promotion_requested: admin, otherAdmin',
    'promotion_approved: coOwner, owner',
  ]);
});

test('a rejection says why; what is asked again changes nothing and tells nobody twice', async () => {
  const { id, move, told, tenant } = await staged();
  for (let twice = 0; twice < 2; twice++) await move(id, 'promote-request', 'owner', { note: '' });
  for (let twice = 0; twice < 2; twice++)
    await move(id, 'promote-reject', 'coOwner', { reason: 'a typing error' });
  expect(await told()).toEqual(['promotion_requested: admin, otherAdmin', 'promotion_rejected: owner']);
  expect((await toldIn(database.db, tenant)).at(-1)?.text).toContain('a typing error');
});

test('who was taken out of the owners since they asked is not told what became of it', async () => {
  const { id, move, told, app, people } = await staged();
  await move(id, 'promote-request', 'coOwner');
  await sql`delete from svc.app_co_owners where app_id = ${app.id} and user_id = ${people.coOwner.userId}`.execute(
    database.db,
  );
  await move(id, 'promote-approve', 'admin');
  expect(await told()).toContain('promotion_approved: owner');
});
