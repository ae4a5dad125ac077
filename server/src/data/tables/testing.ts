import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import { appRef, type Caller } from '../../core/context.ts';
import { newTenant, type TestDatabase } from '../../testing.ts';
import { appCalls } from '../testing.ts';
import { physicalColumnName, physicalSchemaName, qualifiedTable, versionColumn } from './catalogue.ts';

import { loadCatalogue } from './load-catalogue.ts';
import { tableRoutes } from './routes.ts';

export type TestTables = Awaited<ReturnType<typeof newTestTables>>;

export async function newTestTables(database: TestDatabase, rows = database.rows) {
  const people = await newTenant(database.db);
  const { tenant, member } = people;
  const app = await newApp(database.db, tenant, member);
  const calls = appCalls({ db: database.db, rows }, people, { routes: tableRoutes, path: '/tables' });
  const call = calls(member, app);
  return {
    ...people,
    owner: member,
    app,
    call,
    as: (caller: Caller, other = app) => calls(caller, other),
    catalogue: (name: string) => loadCatalogue(database.db, appRef({ tenant, app }), name),
    table: async (name: string, columns: unknown[] = [], more: object = {}) => {
      const { status, body } = await call('POST', '', { name, columns, ...more });
      if (status !== 201) throw new Error(`${name} answered ${status}: ${JSON.stringify(body)}`);
      return body as { id: string; version: number };
    },
  };
}

export const qualifiedTableName = (app: { id: string }, { id }: { id: string }) =>
  qualifiedTable({ id, app_id: app.id });

export async function insertRow(
  { db }: Pick<TestDatabase, 'db'>,
  { app }: Pick<TestTables, 'app'>,
  table: { id: string },
  values: Readonly<Record<number, unknown>>,
): Promise<void> {
  const names = [versionColumn, ...Object.keys(values).map((number) => physicalColumnName(Number(number)))];
  const target = sql.raw(qualifiedTableName(app, table));
  await sql`insert into ${target} (${sql.raw(names.join(', '))})
    values (1, ${sql.join(Object.values(values))})`.execute(db);
}

export async function physicalState({ db }: Pick<TestDatabase, 'db'>, app: { id: string }) {
  const state = await sql<{ columns: Record<string, number>; indexes: string[] }>`
    select coalesce(json_object_agg(relname, relnatts) filter (where relkind = 'r'), '{}')::jsonb as columns,
      coalesce(array_agg(relname::text order by relname) filter (where relkind = 'i'), '{}') as indexes
    from pg_class where relnamespace = to_regnamespace(${physicalSchemaName(app.id)})`.execute(db);
  return state.rows[0] ?? { columns: {}, indexes: [] };
}
