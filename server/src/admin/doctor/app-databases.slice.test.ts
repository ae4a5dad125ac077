import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { openControlDatabase } from '../../core/db.ts';
import { createDataSchema } from '../../data/rows/data-schema.ts';
import { physicalIndexName, physicalSchemaName } from '../../data/tables/catalogue.ts';
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

const differences = (detail: string) => detail.replace(/\.$/, '').split('; ');

const types =
  'text int bigint float bool timestamptz date uuid jsonb text[] int[] decimal(10,2) enum(a,b) autonumber file ref:a'.split(
    ' ',
  );

test('missing, additional and changed columns, indexes, foreign keys and tables are each a problem', async () => {
  // Columns of files need it.
  await createDataSchema({ url: database.url, role: database.rows.role });
  const t = await newTestTables(database);
  const a = await t.table('a', ['x:int']);
  const columns = types.map((type, at) => `c_${at}:${type}`);
  const b = await t.table('b', columns);
  await t.call('POST', '/b/indexes', { columns: ['c_1'], name: 'one' });
  await t.call('POST', '/b/indexes', { search: { c_0: 'A' } });
  const { body: unique } = await t.call('POST', '/b/indexes', {
    columns: ['c_7'],
    unique: true,
    name: 'two',
  });
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

  const index = physicalIndexName(unique.id);
  const key = (await t.catalogue('a'))!.referencedBy![0]!.physical;
  await sql`drop index ${sql.id(physicalSchemaName(t.app.id), index)}`.execute(database.db);
  await sql`create index i_by_hand on ${table} (v)`.execute(database.db);
  await sql`alter table ${table} drop constraint ${sql.id(key)},
    add constraint by_hand foreign key (c1) references ${table} (c1)`.execute(database.db);
  await sql`drop table ${sql.raw(qualifiedTableName(t.app, a))}`.execute(database.db);
  const before = new Set(differences(detail));
  expect(
    differences((await compare()).detail)
      .filter((part) => !before.has(part))
      .sort(),
  ).toEqual([
    `${t.app.slug}/a has no table in PostgreSQL`,
    `${t.app.slug}/b has the foreign key by_hand, which is not defined`,
    `${t.app.slug}/b has the index i_by_hand, which is not defined`,
    `${t.app.slug}/b lacks the foreign key ${key}`,
    `${t.app.slug}/b lacks the index ${index}`,
  ]);
});
