import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { openControlDatabase } from '../../core/db.ts';
import { createDataSchema } from '../../data/rows/data-schema.ts';
import {
  physicalIndexName,
  physicalLogFunctionName,
  physicalLogName,
  physicalSchemaName,
} from '../../data/tables/catalogue.ts';
import { newTestTables, qualifiedTableName } from '../../data/tables/testing.ts';
import { useTestDatabase } from '../../testing.ts';
import { compareTables, tableDefinitions } from './app-databases.ts';
import type { DatabaseFacts, Finding } from './check.ts';

const database = useTestDatabase();

const openControl = () => openControlDatabase(database.url, { connectionsMax: 1, onError: () => {} });

async function compare(): Promise<Finding> {
  if (tableDefinitions.needs !== 'database') throw new Error('The check needs a database.');
  const control = openControl();
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

test('a log that is missing or left over, its triggers, its function and checks of values are each a problem', async () => {
  const t = await newTestTables(database);
  const fed = await t.table('fed', ['n:int(min=1)'], { changes: true });
  const plain = await t.table('plain', ['n:int']);
  await t.table('old', ['n:int'], { history: '30d' });
  await t.table('trash', ['n:int'], { soft_delete: '30d' });
  const is = async (...expected: string[]) => {
    const control = openControl();
    const { differences } = await compareTables(control, database.rowsUrl).finally(control.close);
    const own = differences.filter((part) => part.startsWith(`${t.app.slug}/`) || part.startsWith(schema));
    expect(own.sort()).toEqual(expected.sort());
  };
  const run = (statement: string) => sql.raw(statement).execute(database.db);
  const schema = physicalSchemaName(t.app.id);
  const log = (table: { id: string }) => physicalLogName(table.id);
  const logFunction = (table: { id: string }) => physicalLogFunctionName(table.id);
  const named = (name: string) => `${t.app.slug}/${name}`;
  await is();

  await run(`drop table ${schema}.${log(fed)}`);
  await is(`${named('fed')} lacks the log of changes ${log(fed)}`);
  await run(`drop function ${schema}.${logFunction(fed)} cascade`);
  await is(
    `${named('fed')} lacks the log of changes ${log(fed)}`,
    `${named('fed')} lacks the function of triggers ${logFunction(fed)}`,
    ...['insert', 'update', 'delete'].map((action) => `${named('fed')} lacks the trigger log_${action}`),
  );
  // As the hint says.
  for (const changes of [false, true]) expect((await t.call('PATCH', '/fed', { changes })).status).toBe(200);
  await is();

  await run(`alter table ${qualifiedTableName(t.app, fed)} disable trigger log_update`);
  await is(
    `${named('fed')} lacks the trigger log_update`,
    `${named('fed')} has the trigger log_update (disabled), which is not defined`,
  );
  await run(`alter table ${qualifiedTableName(t.app, fed)} enable trigger log_update`);

  await run(`create table ${schema}.${log(plain)} (seq int)`);
  await run(
    `create function ${schema}.${logFunction(plain)}() returns trigger language plpgsql as 'begin return null; end'`,
  );
  await run(`create trigger log_insert after insert on ${qualifiedTableName(t.app, plain)}
    for each statement execute function ${schema}.${logFunction(plain)}()`);
  await is(
    `${named('plain')} has the log of changes ${log(plain)}, which is not defined`,
    `${named('plain')} has the function of triggers ${logFunction(plain)}, which is not defined`,
    `${named('plain')} has the trigger log_insert, which is not defined`,
  );
  await t.call('DELETE', '/plain');
  await is();

  // Logs of tables that are gone.
  const unknown = { id: crypto.randomUUID() };
  await run(`create table ${schema}.${log(unknown)} (seq int)`);
  await is(`${schema}.${log(unknown)} has no definition`);
  await run(`drop table ${schema}.${log(unknown)}`);

  await run(
    `alter table ${qualifiedTableName(t.app, fed)} drop constraint k2_min, add constraint by_hand check (c2 > 1)`,
  );
  await is(
    `${named('fed')} lacks the check k2_min`,
    `${named('fed')} has the check by_hand, which is not defined`,
  );
});

test('checks, types and logs that are changed with a table are as defined', async () => {
  const t = await newTestTables(database);
  const columns = [
    'e:enum(a,b)',
    'n:int(min=1,max=9)',
    's:text(max_length=5):nullable',
    'l:text[](min_length=1)',
  ];
  await t.table('changed', columns, { changes: true });
  const control = openControl();
  const changes = [
    ['/changed/columns/e', { type: 'enum(a,b,c)' }],
    ['/changed/columns/e', { type: 'text' }],
    ['/changed/columns/n', { type: 'bigint' }],
    ['/changed/columns/n', { checks: { min: null } }],
    ['/changed/columns/s', { checks: { pattern: '[0-9]+' } }],
    ['/changed', { history: '30d', changes: false }],
    ['/changed', { name: 'renamed' }],
  ] as const;
  for (const [path, set] of changes) {
    const { status, body } = await t.call('PATCH', path, set);
    expect([path, status, body.detail]).toEqual([path, 200, undefined]);
    const { differences } = await compareTables(control, database.rowsUrl);
    expect(differences.filter((part) => part.startsWith(`${t.app.slug}/`))).toEqual([]);
  }
  await control.close();
});
