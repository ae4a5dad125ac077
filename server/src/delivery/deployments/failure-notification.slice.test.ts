import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { describeSent, listSent } from '../../apps/notifications/testing.ts';
import { newUser } from '../../testing.ts';
import { useDeployments } from './testing.ts';

const { database, newWorld, nodeApp } = useDeployments();

test('owners are notified of a failed push and of nothing else', async () => {
  const t = await newWorld();
  const coOwner = await newUser(database.db, t.tenant.id);
  await sql`insert into svc.app_co_owners (app_id, user_id, added_by, created_at)
    values (${t.app.id}, ${coOwner.userId}, ${t.owner.userId}, now())`.execute(database.db);
  const broken = nodeApp('two', { 'svc.yaml': 'build: exit 3\nstart: node server.cjs\n' });
  expect((await t.live(nodeApp('one'), { isPush: true })).state).toBe('live');
  expect((await t.live(broken)).state).toBe('failed');
  expect(await listSent(database.db, t.tenant)).toEqual([]);

  const failed = await t.live(broken, { isPush: true });
  expect(failed.state).toBe('failed');
  expect(await describeSent(database.db, t.tenant, { owner: t.owner, coOwner })).toEqual([
    'deployment_failed: coOwner, owner',
  ]);
  const [notification] = await listSent(database.db, t.tenant);
  expect(notification?.title).toBe(`Deployment ${t.app.slug} #${failed.seq} failed`);
  expect(notification?.text).toContain(failed.failure_detail ?? 'a reason');
  expect(notification?.path).toBe(`/t/${t.tenant.slug}/apps/${t.app.slug}/deployments/${failed.id}`);
});
