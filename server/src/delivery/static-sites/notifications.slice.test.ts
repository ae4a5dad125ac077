import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { describeSent, listSent } from '../../apps/notifications/testing.ts';
import { newSiteEnv, useSiteServer } from './testing.ts';

const shared = useSiteServer();

/** A public app with one release that is staged. */
async function staged() {
  const world = await newSiteEnv(shared.database, shared.server, { visibility: 'public' });
  await world.call('POST', '/site/staging/enable');
  const id = await world.release({ 'index.html': 'one' }, { on_finalize: 'deploy' });
  const listNotifications = () => describeSent(shared.database.db, world.tenant, world.people);
  return { ...world, id, listNotifications };
}

test('admins and other owners are notified of a request, owners of the decision; never the actor', async () => {
  const { id, move, listNotifications, tenant } = await staged();
  const requested = await move(id, 'promote-request', 'coOwner', { note: 'the new prices' });
  expect(await listNotifications()).toEqual(['promotion_requested: admin, otherAdmin, owner']);
  const [asked] = await listSent(shared.database.db, tenant);
  expect(asked?.text).toContain('the new prices');
  expect(asked?.path).toBe(`/t/${tenant.slug}/reviews/${requested.body.id}`);
  expect((await move(id, 'promote-approve', 'admin', { note: 'fine' })).status).toBe(200);
  expect(await listNotifications()).toEqual([
    'promotion_requested: admin, otherAdmin, owner',
    'promotion_approved: coOwner, owner',
  ]);
});

test('a rejection gives the reason; a repeated request notifies nobody again', async () => {
  const { id, move, listNotifications, tenant } = await staged();
  for (let twice = 0; twice < 2; twice++) await move(id, 'promote-request', 'owner', { note: '' });
  for (let twice = 0; twice < 2; twice++)
    await move(id, 'promote-reject', 'coOwner', { reason: 'a typing error' });
  expect(await listNotifications()).toEqual([
    'promotion_requested: admin, coOwner, otherAdmin',
    'promotion_rejected: owner',
  ]);
  expect((await listSent(shared.database.db, tenant)).at(-1)?.text).toContain('a typing error');
});

test('a former owner is not notified of the decision', async () => {
  const { id, move, listNotifications, app, people } = await staged();
  await move(id, 'promote-request', 'coOwner');
  await sql`delete from svc.app_co_owners where app_id = ${app.id} and user_id = ${people.coOwner.userId}`.execute(
    shared.database.db,
  );
  await move(id, 'promote-approve', 'admin');
  expect(await listNotifications()).toContain('promotion_approved: owner');
});
