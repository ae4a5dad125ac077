import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { newTenant, testMutation, useTestDatabase } from '../testing.ts';
import { openControlDatabase } from './db.ts';

const database = useTestDatabase();

/** One connection, so that the prepared statements of a session are those of the pool. */
async function withOneConnection(
  run: (db: ReturnType<typeof openControlDatabase>['db']) => Promise<void>,
): Promise<void> {
  const { db, close } = openControlDatabase(database.url, { connectionsMax: 1, onError: () => {} });
  await run(db).finally(close);
}

async function repeat(times: number, run: () => Promise<unknown>): Promise<void> {
  for (let at = 0; at < times; at++) await run();
}

test('a repeated statement is prepared once, and others are not', () =>
  withOneConnection(async (db) => {
    await repeat(20, () => sql`select ${1}::int as often`.execute(db));
    await sql`select ${1}::int as once`.execute(db);
    const prepared = await sql<{ statement: string; executed: number }>`
      select statement, generic_plans + custom_plans as executed from pg_prepared_statements`.execute(db);
    expect(prepared.rows).toEqual([{ statement: 'select $1::int as often', executed: 15 }]);
  }));

test('a connection has a limited number of prepared statements', () =>
  withOneConnection(async (db) => {
    for (let at = 0; at < 250; at++)
      await repeat(7, () => sql`select ${at}::int as ${sql.ref(`c${at}`)}`.execute(db));
    const counted = await sql<{ count: number }>`
      select count(*)::int as count from pg_prepared_statements`.execute(db);
    expect(counted.rows).toEqual([{ count: 200 }]);
  }));

test('a statement that is prepared returns the columns that a table has got since', () =>
  withOneConnection(async (db) => {
    await sql`create table public.prepared_reads (a int)`.execute(db);
    await sql`insert into public.prepared_reads values (1)`.execute(db);
    const read = () => sql`select * from public.prepared_reads where a = ${1}`.execute(db);
    await repeat(10, read);
    await sql`alter table public.prepared_reads add column b int default 2`.execute(db);
    expect((await read()).rows).toEqual([{ a: 1, b: 2 }]);
    await repeat(10, read);
    expect((await read()).rows).toEqual([{ a: 1, b: 2 }]);
  }));

test('a change repeats its transaction if the columns of a table are no longer as prepared', () =>
  withOneConnection(async (db) => {
    await sql`create table public.prepared_changes (a int)`.execute(db);
    const { admin, context } = await newTenant(db);
    let attempts = 0;
    const change = () =>
      testMutation(
        db,
        admin,
        async (ctx) => {
          attempts++;
          return (await sql`insert into public.prepared_changes values (${1}) returning *`.execute(ctx.db))
            .rows;
        },
        { context },
      );
    await repeat(10, change);
    await sql`alter table public.prepared_changes add column b int default 2`.execute(db);
    expect((await change()).value).toEqual([{ a: 1, b: 2 }]);
    expect(attempts).toBe(12);
    const { rows } = await sql`select count(*)::int as count from public.prepared_changes`.execute(db);
    expect(rows).toEqual([{ count: 11 }]);
  }));
