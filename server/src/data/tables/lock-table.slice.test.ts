import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import pg from 'pg';
import { patientMs } from '../../../../scripts/patience.ts';
import { openControlDatabase } from '../../core/db.ts';
import { withClient } from '../../drivers/database/connect.ts';
import { useTestDatabase } from '../../testing.ts';
import { runStatement } from './lock-table.ts';
import {
  insertRow,
  newTestTables,
  openSecondDatabase,
  physicalState,
  qualifiedTableName,
} from './testing.ts';

const database = useTestDatabase();

const id = '00000000-0000-7000-8000-000000000001';

async function newFilledTable() {
  const t = await newTestTables(database);
  const table = await t.table('a', ['x:int', 'y:text:nullable']);
  await insertRow(database, t, table, { 1: id, 2: 1, 4: new Date(0), 5: new Date(0) });
  return { ...t, physical: qualifiedTableName(t.app, table) };
}

/** Runs `work` while another open transaction has executed `statement`. */
async function duringTransaction<T>(statement: string, work: () => Promise<T>): Promise<T> {
  return withClient(database.url, async (client) => {
    await client.query('begin');
    await client.query(statement);
    const result = await work();
    await client.query('rollback');
    return result;
  });
}

/** Reads repeatedly until `done`, with pauses for what is measured; returns the duration of the slowest read. */
async function longestReadMs(table: string, done: Promise<unknown>): Promise<number> {
  const client = new pg.Client({ connectionString: database.rowsUrl });
  await client.connect();
  let over = false;
  void done.finally(() => {
    over = true;
  });
  let longest = 0;
  while (!over) {
    const began = performance.now();
    await client.query(`select count(*) from ${table}`);
    longest = Math.max(longest, performance.now() - began);
    await Bun.sleep(10);
  }
  await client.end();
  return longest;
}

const changes: [string, string, unknown?][] = [
  ['DELETE', '/a'],
  ['POST', '/a/columns', 'z:int:5'],
  ['PATCH', '/a/columns/x', { nullable: true }],
  ['DELETE', '/a/columns/y'],
];

test('a change behind a long reader answers table_busy, and no other reader waits 1.5 s', async () => {
  await Promise.all(
    changes.map(async ([method, path, body]) => {
      const t = await newFilledTable();
      const before = await physicalState(database, t.app);
      const { answer, longest } = await duringTransaction(`select * from ${t.physical}`, async () => {
        const began = t.call(method, path, body);
        const longest = await longestReadMs(t.physical, began);
        return { answer: await began, longest };
      });
      expect([path, answer.status, answer.body.code]).toEqual([path, 409, 'table_busy']);
      expect(longest).toBeLessThan(patientMs(1_500));
      expect((await t.call('GET', '/a')).body.version).toBe(1);
      expect(await physicalState(database, t.app)).toEqual(before);
      // Possible once the reader has finished.
      expect((await t.call(method, path, body)).status).toBeLessThan(300);
    }),
  );
});

test('a change succeeds when the reader ends in time', async () => {
  const t = await newFilledTable();
  const answer = await withClient(database.url, async (client) => {
    await client.query(`begin; select * from ${t.physical}`);
    const began = t.call('POST', '/a/columns', 'z:int:5');
    await waitForLockRequest(t.physical);
    await client.query('commit');
    return began;
  });
  expect(answer.status).toBe(201);
});

test('an index is built behind a long reader, but not behind a long writer', async () => {
  const t = await newFilledTable();
  const add = () => t.call('POST', '/a/indexes', { columns: ['x'] });
  expect((await duringTransaction(`select * from ${t.physical}`, add)).status).toBe(201);
  const { answer, longest } = await duringTransaction(`update ${t.physical} set v = 2`, async () => {
    const began = add();
    return { longest: await longestReadMs(t.physical, began), answer: await began };
  });
  expect([answer.status, answer.body.code]).toEqual([409, 'table_busy']);
  expect(longest).toBeLessThan(patientMs(500));
});

test('during a schema change another answers table_busy, but a grant can be revoked', async () => {
  const t = await newFilledTable();
  const grant = { principal_type: 'role', principal_id: 'tenant_member', actions: ['read'] };
  const { id: grantId } = (await t.call('POST', '/a/grants', grant)).body;
  await duringTransaction(
    `select from svc.app_tables where app_id = '${t.app.id}' for no key update`,
    async () => {
      expect((await t.call('DELETE', `/a/grants/${grantId}`)).status).toBe(204);
      const { status, body } = await t.call('PATCH', '/a', { description: 'new' });
      expect([status, body.code]).toEqual([409, 'table_busy']);
    },
  );
});

test('a change that takes long under the lock is rolled back', async () => {
  const t = await newFilledTable();
  // An index whose rebuild takes two seconds, when the table is rewritten.
  const slow = t.physical.replace(/"$/, '_slow"');
  await withClient(database.url, (client) =>
    client.query(`create function ${slow}(int) returns int immutable language plpgsql
      as 'begin perform pg_sleep(2); return $1; end'; create index on ${t.physical} (${slow}(c2))`),
  );
  const began = t.call('POST', '/a/columns', 'u:uuid:gen_random_uuid()');
  const longest = await longestReadMs(t.physical, began);
  const { status, body } = await began;
  expect([status, body.code]).toEqual([409, 'table_busy']);
  expect(longest).toBeLessThan(patientMs(1_500));
  expect((await t.call('GET', '/a')).body.columns).toHaveLength(5);
});

test('tables on a separate data server are changed only there', async () => {
  const second = await openSecondDatabase(database);
  const t = await newTestTables(database, second.rows);
  const there = () => physicalState(second, t.app);
  await t.table('a', ['x:int']);
  await t.call('POST', '/a/columns', `y:text:it's`);
  await t.call('POST', '/a/indexes', { columns: ['y'], unique: true });
  expect([(await there()).indexes.length, (await physicalState(database, t.app)).indexes]).toEqual([2, []]);
  expect((await t.call('DELETE', '/a?dry_run=true')).status).toBe(200);
  expect((await there()).indexes).toHaveLength(2);
  // As an earlier version could leave it.
  await sql`drop schema ${sql.raw(`"app_${t.app.id.replaceAll('-', '')}"`)} cascade`.execute(second.db);
  expect((await t.call('DELETE', '/a')).status).toBe(204);
  await second.close();
});

async function waitForLockRequest(table: string): Promise<void> {
  for (;;) {
    const { rows } =
      await sql`select from pg_locks where not granted and relation = ${table}::regclass`.execute(
        database.db,
      );
    if (rows.length > 0) return;
  }
}

test('a statement’s own timeout replaces the pool’s', async () => {
  const { db, close } = openControlDatabase(database.url, {
    connectionsMax: 1,
    statementMsMax: 100,
    onError: () => {},
  });
  const tx = await db.startTransaction().execute();
  await runStatement(tx, { text: 'set local statement_timeout = 0' });
  // The driver gives up two seconds after the pool's limit.
  await runStatement(tx, { text: 'select pg_sleep(2.3)' }, 10_000);
  await tx.rollback().execute();
  await close();
});
