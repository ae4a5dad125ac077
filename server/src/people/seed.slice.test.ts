import { afterEach, beforeEach, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { findAuditBreaks } from '../core/audit-verify.ts';
import { platformTenantId } from '../core/context.ts';
import { openControlDatabase } from '../core/db.ts';
import { operator } from '../identity/provider/testing.ts';
import { type TestDatabase, testDatabase, testDeps, testMutation } from '../testing.ts';
import { findSeededAdmin, seed } from './seed.ts';
import { createUser, verifyPassword } from './users/users.ts';

let database: TestDatabase;

beforeEach(async () => {
  database = await testDatabase();
});
afterEach(() => database.close());

const plant = () => seed({ db: database.db, ...testDeps });

test('the first start creates a tenant and an admin and prints the password; later starts do nothing', async () => {
  const seeded = await plant();
  expect(seeded).toMatchObject({ tenant: 'demo', email: 'admin@demo.localhost' });
  const user = await verifyPassword(database, { email: seeded!.email, password: seeded!.password ?? '' });
  expect(user?.id).toBe((await findSeededAdmin(database.db)) ?? 'nobody');
  expect(await plant()).toBeNull();
});

test('a start waits while another one seeds, however short the limit of locks is', async () => {
  const lockMs = 1_000;
  const impatient = openControlDatabase(database.url, {
    connectionsMax: 2,
    patience: lockMs / 2_000,
    onError: () => {},
  });
  const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const other = database.db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended('svc seed', 0))`.execute(tx);
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  const seeding = seed({ db: impatient.db, ...testDeps });
  const first = await Promise.race([seeding, Bun.sleep(1.5 * lockMs).then(() => 'waiting')]);
  release.resolve();
  await other;
  expect([first, await seeding]).toMatchObject(['waiting', { tenant: 'demo' }]);
  await impatient.close();
});

test('an existing admin keeps the password, and none is printed', async () => {
  const password = 'correct horse battery staple';
  const email = 'admin@demo.localhost';
  const { value } = await testMutation(database.db, operator, (ctx) => createUser(ctx, { email, password }));
  expect(await plant()).toEqual({ tenant: 'demo', email, password: null });
  expect(await findSeededAdmin(database.db)).toBe(value.id);
  expect((await verifyPassword(database, { email, password }))?.id).toBe(value.id);
});

test("the membership is in the tenant's audit chain, tenant and user in the platform's, all anchored", async () => {
  await plant();
  const { rows } = await sql<{ platform: boolean; action: string }>`
    select tenant_id = ${platformTenantId} as platform, action from svc.audit_entries order by action`.execute(
    database.db,
  );
  expect(rows).toEqual([
    { platform: false, action: 'members.set' },
    { platform: true, action: 'tenants.create' },
    { platform: true, action: 'users.create' },
  ]);
  const queued = await sql<{ payload: { tenantId: string; seq: number; hash: string } }>`
    select payload from svc.outbox where topic = 'audit.anchor'`.execute(database.db);
  expect(queued.rows).toHaveLength(2);
  expect(
    await findAuditBreaks(
      database.db,
      queued.rows.map((row) => row.payload),
    ),
  ).toEqual([]);
});
