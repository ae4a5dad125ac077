import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import type { TenantCtx } from '../../core/context.ts';
import { newTenant, silentLog, testCaller, useTestDatabase } from '../../testing.ts';
import {
  createAccessLog,
  deleteOldEntries,
  type GovernedData,
  listAccessLog,
  readerOf,
} from './access-log.ts';

const database = useTestDatabase();

async function world() {
  const { tenant, member } = await newTenant(database.db);
  const accessLog = createAccessLog({ db: database.db, log: silentLog, now: () => new Date() });
  const data = (fields: Partial<GovernedData> = {}): GovernedData => ({
    tenantId: tenant.id,
    ...readerOf(member),
    connectorId: null,
    appId: null,
    resourcePath: 'sales/orders',
    action: 'read',
    columns: ['id', 'a "quoted" name'],
    maskedColumns: [],
    grantIds: ['g1'],
    policyIds: [],
    ...fields,
  });
  const stored = async () =>
    (
      await sql<{ rows: string; columns: string[] }>`
      select rows, columns, grant_ids from svc.access_log where tenant_id = ${tenant.id} order by id`.execute(
        database.db,
      )
    ).rows;
  const record = (rows = 1, of = data()) => accessLog.recordRead(of, { rows, requestId: `r${rows}` });
  return { tenant, accessLog, data, record, stored };
}

test('reads are written in the background, in order and in batches', async () => {
  const { accessLog, record, stored } = await world();
  for (let i = 0; i < 1_200; i++) record(i);
  await accessLog.flush();
  const rows = await stored();
  expect(rows.map((row) => Number(row.rows))).toEqual(Array.from({ length: 1_200 }, (_, i) => i));
  expect(rows[0]?.columns).toEqual(['id', 'a "quoted" name']);
  await accessLog.stop();
});

test('equal reads share a row and are listed one by one, newest first, with pages', async () => {
  const { tenant, admin } = await newTenant(database.db);
  let time = Date.parse('2026-11-17T10:00:00Z');
  const accessLog = createAccessLog({
    db: database.db,
    log: silentLog,
    now: () => {
      time += 7_000;
      return new Date(time);
    },
  });
  const shared = {
    ...readerOf(admin),
    connectorId: null,
    appId: null,
    resourcePath: 'sales/orders',
    action: 'read',
    columns: ['id'],
    maskedColumns: [],
    grantIds: [],
    policyIds: [],
  };
  const [orders, lines] = [
    { tenantId: tenant.id, ...shared },
    { tenantId: tenant.id, ...shared },
  ];
  for (let rows = 0; rows < 12; rows++) accessLog.recordRead(orders, { rows, requestId: `r${rows}` });
  accessLog.recordRead(lines, { rows: 12, requestId: 'r12' });
  await accessLog.stop();
  const { rows: stored } = await sql`select from svc.access_log where tenant_id = ${tenant.id}`.execute(
    database.db,
  );
  expect(stored).toHaveLength(4);
  const ctx = { db: database.db, tenant: { ...tenant, role: 'tenant_admin' } } as unknown as TenantCtx;
  const seen: number[] = [];
  const ids = new Set<string>();
  for (let cursor: string | undefined, page = 0; page < 5; page++) {
    const query = { per_page: 3, ...(cursor && { cursor }) } as Parameters<typeof listAccessLog>[1];
    const { items, next_cursor } = await listAccessLog(ctx, query);
    seen.push(...items.map(({ rows }) => rows));
    for (const { id } of items) ids.add(id);
    cursor = next_cursor ?? undefined;
  }
  expect(seen).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  expect(ids.size).toBe(13);
  const some = await listAccessLog(ctx, {
    per_page: 50,
    from: '2026-11-17T10:00:14Z',
    to: '2026-11-17T10:00:49Z',
  } as Parameters<typeof listAccessLog>[1]);
  expect(some.items.map(({ request_id }) => request_id)).toEqual(['r5', 'r4', 'r3', 'r2', 'r1']);
});

test('entries are written without a call, and at the latest when the server stops', async () => {
  const { accessLog, record, stored } = await world();
  record();
  const deadline = Date.now() + 10_000;
  while ((await stored()).length === 0 && Date.now() < deadline) await new Promise(setImmediate);
  expect(await stored()).toHaveLength(1);
  record();
  await accessLog.stop();
  expect(await stored()).toHaveLength(2);
});

test('an entry that the database refuses does not hold up the others', async () => {
  const { accessLog, data, record, stored } = await world();
  record(1);
  record(1, data({ tenantId: 'no uuid' }));
  record(2);
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
  const { tenant, accessLog, record, stored } = await world();
  for (const _ of [1, 2]) record();
  await accessLog.stop();
  await sql`update svc.access_log set at = now() - interval '91 days' where id =
    (select min(id) from svc.access_log where tenant_id = ${tenant.id})`.execute(database.db);
  await deleteOldEntries(database.db, { now: new Date() });
  expect(await stored()).toHaveLength(1);
});
