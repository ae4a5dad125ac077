import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { newTenant, silentLog, testCaller, useTestDatabase } from '../../testing.ts';
import { createAccessLog, deleteOldEntries, type GovernedRead, readerOf } from './access-log.ts';

const database = useTestDatabase();

async function world() {
  const { tenant, member } = await newTenant(database.db);
  const accessLog = createAccessLog({ db: database.db, log: silentLog, now: () => new Date() });
  const read = (fields: Partial<GovernedRead> = {}): GovernedRead => ({
    tenantId: tenant.id,
    ...readerOf(member),
    connectorId: null,
    appId: null,
    resourcePath: 'sales/orders',
    action: 'read',
    columns: ['id', 'a "quoted" name'],
    maskedColumns: [],
    rows: 1,
    grantIds: ['g1'],
    policyIds: [],
    requestId: 'r',
    ...fields,
  });
  const stored = async () =>
    (
      await sql<{ rows: string; columns: string[] }>`
      select rows, columns, grant_ids from svc.access_log where tenant_id = ${tenant.id} order by id`.execute(
        database.db,
      )
    ).rows;
  return { tenant, accessLog, read, stored };
}

test('reads are written in the background, in order and in batches', async () => {
  const { accessLog, read, stored } = await world();
  for (let i = 0; i < 1_200; i++) accessLog.recordRead(read({ rows: i }));
  await accessLog.flush();
  const rows = await stored();
  expect(rows.map((row) => Number(row.rows))).toEqual(Array.from({ length: 1_200 }, (_, i) => i));
  expect(rows[0]?.columns).toEqual(['id', 'a "quoted" name']);
  await accessLog.stop();
});

test('entries are written without a call, and at the latest when the server stops', async () => {
  const { accessLog, read, stored } = await world();
  accessLog.recordRead(read());
  const deadline = Date.now() + 10_000;
  while ((await stored()).length === 0 && Date.now() < deadline) await new Promise(setImmediate);
  expect(await stored()).toHaveLength(1);
  accessLog.recordRead(read());
  await accessLog.stop();
  expect(await stored()).toHaveLength(2);
});

test('an entry that the database refuses does not hold up the others', async () => {
  const { accessLog, read, stored } = await world();
  accessLog.recordRead(read({ rows: 1 }));
  accessLog.recordRead(read({ tenantId: 'no uuid' }));
  accessLog.recordRead(read({ rows: 2 }));
  await accessLog.flush();
  expect((await stored()).map((row) => Number(row.rows))).toEqual([1, 2]);
  await accessLog.stop();
});

test('the reader is the person, the app or the service account; old entries are deleted', async () => {
  expect(readerOf(testCaller({ kind: 'login', email: 'a@b.c', throughApp: 'x' }))).toMatchObject({
    actor: { kind: 'user', name: 'a@b.c' },
    throughApp: 'x',
  });
  expect(readerOf(testCaller({ kind: 'service_account', name: 'ci' }))).toMatchObject({
    actor: { kind: 'service_account', name: 'ci' },
    throughApp: null,
  });
  const { tenant, accessLog, read, stored } = await world();
  for (const _ of [1, 2]) accessLog.recordRead(read());
  await accessLog.stop();
  await sql`update svc.access_log set at = now() - interval '91 days' where id =
    (select min(id) from svc.access_log where tenant_id = ${tenant.id})`.execute(database.db);
  await deleteOldEntries(database.db, { now: new Date() });
  expect(await stored()).toHaveLength(1);
});
