import { afterAll } from 'bun:test';
import { sql } from 'kysely';
import { newOwnedApp } from '../../apps/record/testing.ts';
import { type AppRef, appRef, type Caller, type MutationCtx } from '../../core/context.ts';
import { query } from '../../drivers/database/testing.ts';
import { createRawDatabases } from '../../drivers/raw-database/raw-databases.ts';
import { externalServer } from '../../drivers/raw-database/server.ts';
import { type TestDatabase, testMutation, useTestDatabase } from '../../testing.ts';
import { rawDbRoutes } from '../routes.ts';
import { appCalls } from '../testing.ts';
import { reconcileRawDb } from './lifecycle.ts';

export type TestRawApp = Awaited<ReturnType<typeof newRawApp>>;

export const rawDatabasesAt = ({ url }: Pick<TestDatabase, 'url'>) =>
  createRawDatabases({ installation: 'test', server: externalServer(url) });

export async function newRawApp(database: TestDatabase, raw = rawDatabasesAt(database)) {
  const { db } = database;
  const { tenant, admin, member, owner, coOwner, app } = await newOwnedApp(db);
  const ref = appRef({ tenant, app });
  const calls = appCalls(database, { tenant, admin }, { routes: rawDbRoutes({ raw }), path: '/raw-db' });
  const reconcile = reconcileRawDb({ db, raw });
  return {
    tenant,
    app,
    ref,
    raw,
    people: { owner, coOwner, admin, member },
    call: calls(owner, app),
    as: (caller: Caller) => calls(caller, app),
    change: (work: (ctx: MutationCtx, ref: AppRef) => Promise<unknown>) =>
      testMutation(db, owner, (ctx) => work(ctx, ref), { auditTenantId: tenant.id }),
    runEffects: async (): Promise<number> => {
      const { rows } = await sql<{ payload: Record<string, unknown> }>`
        update svc.outbox set done_at = now()
        where topic = 'rawDb.settle' and payload->>'tenant_id' = ${tenant.id} and done_at is null
        returning payload`.execute(db);
      for (const { payload } of rows) await reconcile(payload);
      return rows.length;
    },
  };
}

/** A database for one test file. Databases and roles of apps are removed after the tests. */
export function useRawDatabases() {
  // Hooks run in the order of their registration: the roles must go before the test database.
  afterAll(async () => {
    const raw = rawDatabasesAt(database);
    const all = await databasesOnServer();
    // A restore keeps the database that it replaces, and the role of the app has rights there.
    const replaced = all.filter((name) => name.includes('_until_'));
    for (const name of replaced) await query(database.adminUrl, `drop database "${name}" with (force)`);
    for (const name of all.filter((each) => !replaced.includes(each)))
      await raw.withLock(name, (database) => database.drop());
  });
  const database = useTestDatabase();

  async function databasesOnServer(): Promise<string[]> {
    const rows = await query(
      database.adminUrl,
      `select datname as name from pg_database where datname ~ '^svc_raw_'
       union select left(rolname, 40) from pg_roles where rolname ~ '^svc_raw_'`,
    );
    return rows.map(({ name }) => name);
  }

  const findRows = async ({ app }: TestRawApp) =>
    (
      await sql<{ state: string }>`select * from svc.raw_databases where app_id = ${app.id}`.execute(
        database.db,
      )
    ).rows;

  async function newEnabledApp(): Promise<TestRawApp & { url: string; name: string }> {
    const target = await newRawApp(database);
    const { body } = await target.call('POST', '/enable');
    await target.runEffects();
    return { ...target, url: body.connection_string, name: body.database };
  }

  return { database, databasesOnServer, findRows, newEnabledApp };
}
