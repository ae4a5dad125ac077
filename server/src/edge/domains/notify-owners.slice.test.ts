import { expect, test } from 'bun:test';
import { pendingTriesMax } from '@svc/contract/domains.ts';
import { sql } from 'kysely';
import { describeSent, listSent } from '../../apps/notifications/testing.ts';
import { newHost, useDomains } from './testing.ts';

const { database, dns, world, publish, activeAt, checkByClock, pass, notifyLosses } = useDomains();

test('owners are notified once of wrong records, and again on disconnection', async () => {
  const host = newHost();
  const made = await activeAt(host);
  dns.routes.delete(host);
  for (let check = 1; check <= 4; check++) await checkByClock(made.id);
  expect(await describeSent(database.db, made.tenant, made.people)).toEqual([
    'domain_failing: coOwner, owner',
  ]);
  await pass(made.id, '24 hours');
  expect((await checkByClock(made.id)).status).toBe('disconnected');
  expect(await describeSent(database.db, made.tenant, made.people)).toEqual([
    'domain_failing: coOwner, owner',
    'domain_disconnected: coOwner, owner',
  ]);
  const notification = (await listSent(database.db, made.tenant)).at(-1);
  expect(notification?.title).toContain(host);
  expect(notification?.path).toBe(`/t/${made.tenant.slug}/apps/${made.app.slug}/domains`);
});

test('owners are notified when a domain was never verified', async () => {
  const made = await world();
  const id = await made.add(newHost());
  await checkByClock(id);
  expect(await listSent(database.db, made.tenant)).toEqual([]);
  await sql`update svc.domains set tries = ${pendingTriesMax - 1} where id = ${id}`.execute(database.db);
  await checkByClock(id);
  expect(await describeSent(database.db, made.tenant, made.people)).toEqual([
    'domain_disconnected: coOwner, owner',
  ]);
});

test('the caller is not notified, and a preview notifies nobody', async () => {
  const host = newHost();
  const made = await activeAt(host);
  dns.routes.delete(host);
  expect((await made.call('POST', `/${made.id}/verify?dry_run=true`)).status).toBe(200);
  expect(await listSent(database.db, made.tenant)).toEqual([]);
  expect((await made.verify(made.id)).status).toBe(200);
  expect(await describeSent(database.db, made.tenant, made.people)).toEqual(['domain_failing: coOwner']);
});

test('the owners who lose a host to another tenant are notified once', async () => {
  const host = newHost();
  const before = await activeAt(host);
  const after = await world();
  const id = await after.add(host);
  await publish(id);
  expect((await after.verify(id)).body.status).toBe('active');
  expect(await notifyLosses()).toBe(1);
  expect(await describeSent(database.db, before.tenant, before.people)).toEqual([
    'domain_disconnected: coOwner, owner',
  ]);
  expect(await listSent(database.db, after.tenant)).toEqual([]);
});
