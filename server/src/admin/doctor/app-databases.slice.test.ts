import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { openControlDatabase } from '../../core/db.ts';
import { createDataSchema } from '../../data/rows/data-schema.ts';
import { newTestTables, qualifiedTableName } from '../../data/tables/testing.ts';
import { useTestDatabase } from '../../testing.ts';
import { tableDefinitions } from './app-databases.ts';
import type { DatabaseFacts, Finding } from './check.ts';

const database = useTestDatabase();

async function compare(): Promise<Finding> {
  if (tableDefinitions.needs !== 'database') throw new Error('The check needs a database.');
  const control = openControlDatabase(database.url, { connectionsMax: 1, onError: () => {} });
  const facts = { control, database: { rowsUrl: database.rowsUrl } } as DatabaseFacts;
  return await tableDefinitions.run(facts).finally(control.close);
}

const types =
  'text int bigint float bool timestamptz date uuid jsonb text[] int[] decimal(10,2) enum(a,b) autonumber file ref:a'.split(
    ' ',
  );

test('tables are compared with their definitions: columns with types, indexes and references', async () => {
  // Columns of files need it.
  await createDataSchema({ url: database.url, role: database.rows.role });
  const t = await newTestTables(database);
  await t.table('a', ['x:int']);
  const columns = types.map((type, at) => `c_${at}:${type}`);
  const b = await t.table('b', columns);
  await t.call('POST', '/b/indexes', { columns: ['c_1'], name: 'one' });
  await t.call('POST', '/b/indexes', { search: { c_0: 'A' } });
  expect(await compare()).toMatchObject({ status: 'ok', detail: 'The 2 tables of apps are as defined.' });

  const table = sql.raw(qualifiedTableName(t.app, b));
  await sql`alter table ${table} add column c99 int, alter column c5 type numeric, alter column c3 drop not null,
    drop column c4`.execute(database.db);
  const { status, detail } = await compare();
  expect(status).toBe('problem');
  for (const part of [
    '/b lacks the column c4',
    '/b has the column c99, which is not defined',
    '/b.c5 is numeric not null in place of double precision not null',
    '/b.c3 is integer in place of integer not null',
  ])
    expect(detail).toContain(part);
});
