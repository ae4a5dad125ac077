import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test';
import { pendingTriesMax } from '@svc/contract/domains.ts';
import { sql } from 'kysely';
import { toldIn, whoWasTold } from '../notifications/testing.ts';
import { type TestDatabase, testDatabase } from '../testing.ts';
import {
  activeDomain,
  checkByClock,
  domainWorld,
  type MemoryDns,
  memoryDns,
  newHost,
  pass,
  publish,
  tellLosses,
  testPlace,
} from './testing.ts';

setDefaultTimeout(30_000);
let database: TestDatabase;
let dns: MemoryDns;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
beforeEach(() => {
  dns = memoryDns();
});

test('owners are told once that a domain is wrong, a day before it is disconnected, and then again', async () => {
  const host = newHost();
  const made = await activeDomain(database, dns, host);
  dns.routes.delete(host);
  for (let check = 1; check <= 4; check++) await checkByClock(database, made, made.id);
  expect(await whoWasTold(database.db, made.tenant, made.people)).toEqual(['domain_failing: coOwner, owner']);
  await pass(database, made.id, '24 hours');
  expect((await checkByClock(database, made, made.id)).status).toBe('disconnected');
  expect(await whoWasTold(database.db, made.tenant, made.people)).toEqual([
    'domain_failing: coOwner, owner',
    'domain_disconnected: coOwner, owner',
  ]);
  const told = (await toldIn(database.db, made.tenant)).at(-1);
  expect(told?.title).toContain(host);
  expect(told?.path).toBe(`/t/${made.tenant.slug}/apps/${made.app.slug}/domains`);
});

test('owners are told when one is given up that was never verified', async () => {
  const made = await domainWorld(database, testPlace(dns));
  const id = await made.add(newHost());
  await checkByClock(database, made, id);
  expect(await toldIn(database.db, made.tenant)).toEqual([]);
  await sql`update svc.domains set tries = ${pendingTriesMax - 1} where id = ${id}`.execute(database.db);
  await checkByClock(database, made, id);
  expect(await whoWasTold(database.db, made.tenant, made.people)).toEqual([
    'domain_disconnected: coOwner, owner',
  ]);
});

test('who asks about it themself, or only previews it, tells nobody but the others', async () => {
  const host = newHost();
  const made = await activeDomain(database, dns, host);
  dns.routes.delete(host);
  expect((await made.call('POST', `/${made.id}/verify?dry_run=true`)).status).toBe(200);
  expect(await toldIn(database.db, made.tenant)).toEqual([]);
  expect((await made.call('POST', `/${made.id}/verify`)).status).toBe(200);
  expect(await whoWasTold(database.db, made.tenant, made.people)).toEqual(['domain_failing: coOwner']);
});

test('who loses a host to another tenant is told, once, and the other is not', async () => {
  const host = newHost();
  const before = await activeDomain(database, dns, host);
  const after = await domainWorld(database, testPlace(dns));
  const id = await after.add(host);
  await publish(dns, await after.row(id));
  expect((await after.call('POST', `/${id}/verify`)).body.status).toBe('active');
  expect(await tellLosses(database)).toBe(1);
  expect(await whoWasTold(database.db, before.tenant, before.people)).toEqual([
    'domain_disconnected: coOwner, owner',
  ]);
  expect(await toldIn(database.db, after.tenant)).toEqual([]);
});
