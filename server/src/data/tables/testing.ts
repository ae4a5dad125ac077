import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import { appRef, type Caller } from '../../core/context.ts';
import { openControlDatabase } from '../../core/db.ts';
import { freshDatabase } from '../../drivers/database/testing.ts';
import { newTenant, type TestDatabase, testDeps } from '../../testing.ts';
import { tableRoutes } from '../routes.ts';
import { createDataSchema } from '../rows/data-schema.ts';
import { appCalls } from '../testing.ts';
import { physicalColumnName, physicalSchemaName, qualifiedTable, versionColumn } from './catalogue.ts';
import { loadCatalogue } from './load-catalogue.ts';
import { createTableIntents } from './table-intents.ts';

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

/** A second database for the tables, as with SVC_DATA_DATABASE_URL. */
export async function openSecondDatabase({ db }: Pick<TestDatabase, 'db'>) {
  const { controlUrl: url, drop } = await freshDatabase();
  const { epoch } = await createDataSchema({ url, role: null });
  const second = openControlDatabase(url, { connectionsMax: 5, onError: () => {} });
  const intents = createTableIntents({ ...testDeps, db, rowsDb: second.db, epoch });
  const rows = { db: second.db, role: null, intents };
  return { db: second.db, url, epoch, intents, rows, close: () => second.close().then(drop) };
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
