import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sql } from 'kysely';
import pg from 'pg';
import { withClient } from '../drivers/database/connect.ts';
import { freshDatabase } from '../drivers/database/testing.ts';
import { openControlDatabase } from '../plumbing/db.ts';
import { type TestDatabase, testDatabase } from '../testing.ts';
import { runStatement } from './run-statements.ts';
import { insertRow, physicalName, physicalState, tableWorld } from './testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const id = '00000000-0000-7000-8000-000000000001';

async function world() {
  const t = await tableWorld(database);
  const table = await t.table('a', ['x:int', 'y:text:nullable']);
  await insertRow(database, t, table, { 1: id, 2: 1, 4: new Date(0), 5: new Date(0) });
  return { ...t, place: physicalName(t.app, table) };
}

/** Runs `work` while somebody else is within a transaction that has done `statement`. */
async function whileHeld<T>(statement: string, work: () => Promise<T>): Promise<T> {
  return withClient(database.url, async (client) => {
    await client.query('begin');
    await client.query(statement);
    const result = await work();
    await client.query('rollback');
    return result;
  });
}

/** Reads again and again until `done`; the longest that one read took. */
async function longestReadMs(place: string, done: Promise<unknown>): Promise<number> {
  const client = new pg.Client({ connectionString: database.rowsUrl });
  await client.connect();
  let over = false;
  done.finally(() => {
    over = true;
  });
  let longest = 0;
  while (!over) {
    const began = performance.now();
    await client.query(`select count(*) from ${place}`);
    longest = Math.max(longest, performance.now() - began);
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
      const t = await world();
      const before = await physicalState(database, t.app);
      const { answer, longest } = await whileHeld(`select * from ${t.place}`, async () => {
        const began = t.call(method, path, body);
        const longest = await longestReadMs(t.place, began);
        return { answer: await began, longest };
      });
      expect([path, answer.status, answer.body.code]).toEqual([path, 409, 'table_busy']);
      expect(longest).toBeLessThan(1_500);
      expect((await t.call('GET', '/a')).body.version).toBe(1);
      expect(await physicalState(database, t.app)).toEqual(before);
      // As soon as the reader is gone, it can be done.
      expect((await t.call(method, path, body)).status).toBeLessThan(300);
    }),
  );
}, 20_000);

test('a change that the reader outlasts only for a while is made in the end', async () => {
  const t = await world();
  const answer = await withClient(database.url, async (client) => {
    await client.query(`begin; select * from ${t.place}`);
    const began = t.call('POST', '/a/columns', 'z:int:5');
    await untilSomeoneWaitsFor(t.place);
    await client.query('commit');
    return began;
  });
  expect(answer.status).toBe(201);
});

test('an index is built behind a long reader, but not behind a long writer', async () => {
  const t = await world();
  const add = () => t.call('POST', '/a/indexes', { columns: ['x'] });
  expect((await whileHeld(`select * from ${t.place}`, add)).status).toBe(201);
  const { answer, longest } = await whileHeld(`update ${t.place} set v = 2`, async () => {
    const began = add();
    return { longest: await longestReadMs(t.place, began), answer: await began };
  });
  expect([answer.status, answer.body.code]).toEqual([409, 'table_busy']);
  expect(longest).toBeLessThan(500);
}, 20_000);

test('while somebody else changes the table, another change is told that it is busy; a grant ends at once', async () => {
  const t = await world();
  const grant = { principal_type: 'role', principal_id: 'tenant_member', actions: ['read'] };
  const { id: grantId } = (await t.call('POST', '/a/grants', grant)).body;
  await whileHeld(`select from svc.app_tables where app_id = '${t.app.id}' for no key update`, async () => {
    expect((await t.call('DELETE', `/a/grants/${grantId}`)).status).toBe(204);
    const { status, body } = await t.call('PATCH', '/a', { description: 'new' });
    expect([status, body.code]).toEqual([409, 'table_busy']);
  });
}, 20_000);

test('what would take long under the lock is given up, and nothing of it stays', async () => {
  const t = await world();
  // An index that takes two seconds to be made again, when the table is written anew.
  const slow = t.place.replace(/"$/, '_slow"');
  await withClient(database.url, (client) =>
    client.query(`create function ${slow}(int) returns int immutable language plpgsql
      as 'begin perform pg_sleep(2); return $1; end'; create index on ${t.place} (${slow}(c2))`),
  );
  const began = t.call('POST', '/a/columns', 'u:uuid:gen_random_uuid()');
  const longest = await longestReadMs(t.place, began);
  const { status, body } = await began;
  expect([status, body.code]).toEqual([409, 'table_busy']);
  expect(longest).toBeLessThan(1_500);
  expect((await t.call('GET', '/a')).body.columns).toHaveLength(5);
}, 30_000);

test('tables on another server are changed there, and only there', async () => {
  const fresh = await freshDatabase();
  const rows = openControlDatabase(fresh.controlUrl, { connectionsMax: 5, onError: () => {} });
  const t = await tableWorld(database, { db: rows.db, role: null });
  const there = () => physicalState({ db: rows.db }, t.app);
  await t.table('a', ['x:int']);
  await t.call('POST', '/a/columns', `y:text:it's`);
  await t.call('POST', '/a/indexes', { columns: ['y'], unique: true });
  expect([(await there()).indexes.length, (await physicalState(database, t.app)).indexes]).toEqual([2, []]);
  expect((await t.call('DELETE', '/a?dry_run=true')).status).toBe(200);
  expect((await there()).indexes).toHaveLength(2);
  // As if this server had failed after the other one had done its part.
  await sql`drop schema ${sql.raw(`"app_${t.app.id.replaceAll('-', '')}"`)} cascade`.execute(rows.db);
  expect((await t.call('DELETE', '/a')).status).toBe(204);
  await rows.close();
  await fresh.drop();
});

async function untilSomeoneWaitsFor(place: string): Promise<void> {
  for (;;) {
    const { rows } =
      await sql`select from pg_locks where not granted and relation = ${place}::regclass`.execute(
        database.db,
      );
    if (rows.length > 0) return;
  }
}

test('a statement may take the time it brings along, beyond what the pool gives to others', async () => {
  const { db, close } = openControlDatabase(database.url, {
    ...{ connectionsMax: 1, statementMsMax: 100, onError: () => {} },
  });
  const tx = await db.startTransaction().execute();
  await runStatement(tx, { text: 'set local statement_timeout = 0' });
  // The driver gives up two seconds after the pool's limit.
  await runStatement(tx, { text: 'select pg_sleep(2.3)' }, 10_000);
  await tx.rollback().execute();
  await close();
});
