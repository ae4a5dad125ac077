import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { sql } from 'kysely';
import type { RowDatabase } from '../../core/mutation.ts';
import { withClient } from '../../drivers/database/connect.ts';
import { query } from '../../drivers/database/testing.ts';
import { useTestDatabase } from '../../testing.ts';
import {
  insertRow,
  newTestTables,
  openSecondDatabase,
  physicalState,
  qualifiedTableName,
  type TestTables,
} from './testing.ts';

const database = useTestDatabase();
let second: Awaited<ReturnType<typeof openSecondDatabase>>;

beforeAll(async () => {
  second = await openSecondDatabase(database);
  // While the catalogue commits, the connections to the second database end: its transaction cannot commit any more.
  await query(
    database.url,
    `create table public.faults (app_id uuid, kind text);
     create function public.fail() returns trigger language plpgsql as $$
       declare fault text;
       begin
         select kind into fault from public.faults where app_id = any(new.app_ids);
         if fault = 'second' then
           perform pg_terminate_backend(pid, 5000) from pg_stat_activity
           where datname = '${new URL(second.url).pathname.slice(1)}' and application_name = 'svc control';
         elsif fault = 'first' then
           raise exception 'disk full' using errcode = '53100';
         end if;
         return null;
       end $$;
     create constraint trigger fail after insert on svc.table_intents
     initially deferred for each row execute function public.fail()`,
  );
});
afterAll(() => second.close());

let rows: RowDatabase;
let t: TestTables;
let table: { id: string };
beforeEach(async () => {
  rows = { ...second.rows };
  t = await newTestTables(database, rows);
  table = await t.table('a', ['x:int', 'y:text:nullable']);
  await insertRow(second, t, table, rowOf(1, 10));
});

const rowOf = (at: number, x: number) => ({
  1: `00000000-0000-7000-8000-00000000000${at}`,
  2: x,
  4: new Date(0),
  5: new Date(0),
});

const failAt = (kind: 'first' | 'second') =>
  sql`insert into public.faults values (${t.app.id}, ${kind})`.execute(database.db);

const countRows = async () =>
  (await query(second.url, `select count(*)::int as count from ${qualifiedTableName(t.app, table)}`))[0]
    .count;

async function openIntents(): Promise<unknown[]> {
  const intents =
    await sql`select from svc.table_intents where undone_at is null and ${t.app.id} = any(app_ids)`.execute(
      database.db,
    );
  const marks = await sql`select from svc_data.table_intents`.execute(second.db);
  return [...intents.rows, ...marks.rows];
}

test('a change that commits in both databases leaves no intent', async () => {
  expect((await t.call('POST', '/a/columns', 'z:int:1')).status).toBe(201);
  expect((await t.call('DELETE', '/a')).status).toBe(204);
  expect(await physicalState(second, t.app)).toEqual({ columns: {}, indexes: [] });
  expect(await openIntents()).toEqual([]);
});

test('if the catalogue does not commit, a dropped table and its rows stay', async () => {
  await failAt('first');
  expect((await t.call('DELETE', '/a')).status).toBe(503);
  expect([(await t.call('GET', '/a')).status, await countRows()]).toEqual([200, 1]);
  expect((await t.call('POST', '/a/indexes', { columns: ['x'], unique: true })).status).toBe(503);
  expect((await physicalState(second, t.app)).indexes).toHaveLength(1);
  expect(await openIntents()).toEqual([]);
});

test('if the table does not commit, the change is made again from its intent', async () => {
  await failAt('second');
  expect((await t.call('POST', '/a/columns', `z:text:it's`)).status).toBe(201);
  expect((await t.call('POST', '/a/indexes', { columns: ['x'], unique: true })).status).toBe(201);
  // A rebuilt table.
  expect((await t.call('PATCH', '/a/columns/x', { type: 'bigint' })).status).toBe(200);
  const [row] = await query(second.url, `select c2, c6 from ${qualifiedTableName(t.app, table)}`);
  expect(row).toEqual({ c2: '10', c6: "it's" });
  expect((await physicalState(second, t.app)).indexes).toHaveLength(2);
  expect((await t.call('DELETE', '/a')).status).toBe(204);
  expect(await physicalState(second, t.app)).toEqual({ columns: {}, indexes: [] });
  expect(await openIntents()).toEqual([]);
});

test('rows that were written in between undo the change', async () => {
  await failAt('second');
  const waiting = withClient(second.url, async (client) => {
    await client.query(`begin; lock table ${qualifiedTableName(t.app, table)} in row exclusive mode`);
    const adding = t.call('POST', '/a/indexes', { columns: ['x'], unique: true });
    await waitForLockRequest();
    // Behind the change, until its transaction is gone.
    const inserting = withClient(second.url, (other) =>
      other.query(
        `insert into ${qualifiedTableName(t.app, table)} (v, c1, c2, c4, c5)
         values (1, '00000000-0000-7000-8000-000000000002', 10, now(), now())`,
      ),
    );
    await waitForLockRequest(2);
    await client.query('commit');
    await inserting;
    return adding;
  });
  const { status, body } = await waiting;
  expect([status, body.code]).toEqual([409, 'table_busy']);
  expect((await t.call('GET', '/a/indexes')).body.total).toBe(0);
  expect([(await physicalState(second, t.app)).indexes.length, await countRows()]).toEqual([1, 2]);
  expect(await openIntents()).toEqual([]);
  const audited = await sql<{ action: string }>`
    select action from svc.audit_entries where app_id = ${t.app.id} order by seq`.execute(database.db);
  expect(audited.rows.map(({ action }) => action)).toEqual([
    'apps.create',
    'tables.create',
    'indexes.add',
    'tables.undo',
  ]);
  // The table works as before.
  await sql`delete from public.faults where app_id = ${t.app.id}`.execute(database.db);
  expect((await t.call('POST', '/a/columns', 'z:int:1')).status).toBe(201);
});

async function waitForLockRequest(count = 1): Promise<void> {
  for (;;) {
    const waiting = await query(
      second.url,
      `select from pg_locks where not granted and relation = '${qualifiedTableName(t.app, table)}'::regclass`,
    );
    if (waiting.length >= count) return;
  }
}

test('changes of one app at the same time wait for each other, also where the second database commits slowly', async () => {
  rows.intents = {
    ...second.intents,
    commit: (tx, rowsTx) => {
      const commit = rowsTx.commit.bind(rowsTx);
      const slow = () => ({ execute: () => Bun.sleep(40).then(() => commit().execute()) });
      return second.intents.commit(tx, Object.assign(rowsTx, { commit: slow }) as typeof rowsTx);
    },
  };
  const names = Array.from({ length: 10 }, (_, at) => `new${at}`);
  const made = await Promise.all(names.map((name) => t.call('POST', '', { name, columns: ['x:int'] })));
  expect(made.map(({ status }) => status)).toEqual(names.map(() => 201));
  expect(await openIntents()).toEqual([]);
});

test('what a server left open is finished by the next change of the app', async () => {
  await leaveOpen();
  expect((await t.call('GET', '/a')).body.columns).toHaveLength(6);
  expect((await t.call('DELETE', '/a/columns/z')).status).toBe(204);
  expect(await openIntents()).toEqual([]);
});

test('what a server left open is finished by any server, once', async () => {
  await leaveOpen();
  await Promise.all([second.intents.completeAll(), second.intents.completeAll()]);
  await second.intents.completeAll();
  expect(Object.values((await physicalState(second, t.app)).columns)).toEqual([7]);
  expect(await openIntents()).toEqual([]);
});

/** As if the server had died after the commit of the catalogue. */
async function leaveOpen(): Promise<void> {
  const dying = Promise.withResolvers<void>();
  rows.intents = {
    ...second.intents,
    commit: (tx, rowsTx) => {
      const commit = () => ({
        async execute() {
          await rowsTx.rollback().execute();
          dying.resolve();
          await new Promise(() => {});
        },
      });
      return second.intents.commit(tx, Object.assign(rowsTx, { commit }) as typeof rowsTx);
    },
  };
  void t.call('POST', '/a/columns', 'z:int:1');
  await dying.promise;
  rows.intents = second.intents;
}
