import { sql } from 'kysely';
import pino from 'pino';
import { patientMs } from '../../scripts/patience.ts';
import { useFixture } from '../../scripts/use-fixture.ts';
import { type Caller, type MutationCtx, platformTenantId, type TenantAccess } from './core/context.ts';
import { type Db, openControlDatabase } from './core/db.ts';
import { migrate, migrationsDirectory } from './core/migrate.ts';
import { type MutationResult, type RowDatabase, runMutation } from './core/mutation.ts';
import { rowsOnlyOutbox } from './core/outbox-worker.ts';
import { Failure } from './core/problem.ts';
import { freshDatabase } from './drivers/database/testing.ts';
import { rowDatabaseInControl } from './drivers/row-database/row-pool.ts';
import type { RequestInfo } from './http/handlers.ts';
import { collectEvents } from './modules.ts';

export type TestDatabase = Awaited<ReturnType<typeof testDatabase>>;

let template: Promise<string> | undefined;

/** For tests of slices: real PostgreSQL, a database per test file, copied from one that is migrated once. */
export async function testDatabase() {
  template ??= makeTemplate();
  const { controlUrl: url, rowsUrl, adminUrl, drop } = await freshDatabase({ template: await template });
  // With longer limits, because test files share the machine with others.
  const patience = patientMs(1);
  const control = openControlDatabase(url, {
    connectionsMax: 20,
    isStarting: true,
    patience,
    onError: () => {},
  });
  const rows: RowDatabase = rowDatabaseInControl(rowsUrl);
  const close = () => control.close().then(drop);
  return { url, rowsUrl, adminUrl, db: control.db, rows, close };
}

/** A database for one test file: opened before its tests, dropped after them. */
export const useTestDatabase = (): TestDatabase => useFixture(testDatabase, (database) => database.close());

/** The subscribers of every module. */
export const testEvents = collectEvents({ runtime: { kind: 'process' } });

export const silentLog = pino({ level: 'silent' });

/** What use cases need beside a database: effects are queued, not run. */
export const testDeps = { outbox: rowsOnlyOutbox, log: silentLog, events: testEvents };

export const testRequestInfo: RequestInfo = {
  requestId: 'test',
  log: silentLog,
  setRoute: () => {},
  clientAddress: '127.0.0.1',
  deadline: new AbortController().signal,
};

async function makeTemplate(): Promise<string> {
  const fresh = await freshDatabase();
  await migrate({ url: fresh.controlUrl, directory: migrationsDirectory, log: () => {} });
  return fresh.name;
}

export function testCaller(overrides: Partial<Caller> = {}): Caller {
  return {
    kind: 'login',
    userId: Bun.randomUUIDv7(),
    email: 'someone@example.test',
    name: 'Someone',
    credentialId: 'test',
    expiresAt: new Date(Date.now() + 3600_000),
    ...overrides,
  };
}

export type TestTenant = Awaited<ReturnType<typeof newTenant>>;

/** A tenant of the test's own, with an admin and a member; `context` is the admin's. */
export async function newTenant(db: Db) {
  const id = Bun.randomUUIDv7();
  const slug = `t-${id.replaceAll('-', '').slice(-20)}`;
  await sql`insert into svc.tenants (id, slug, name, created_at)
    values (${id}, ${slug}, ${slug}, now())`.execute(db);
  const admin = await newUser(db, id, 'tenant_admin');
  const member = await newUser(db, id, 'tenant_member');
  const tenant: TenantAccess = { id, slug, name: slug, role: 'tenant_admin' };
  return { tenant, admin, member, context: { tenant } };
}

export async function newUser(
  db: Db,
  tenantId: string | null,
  role: 'tenant_member' | 'tenant_admin' = 'tenant_member',
): Promise<Caller> {
  const userId = Bun.randomUUIDv7();
  const email = `${userId}@example.test`;
  await sql`insert into svc.users (id, email, name, created_at)
    values (${userId}, ${email}, 'Someone', now())`.execute(db);
  if (tenantId !== null) {
    await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
      values (${tenantId}, ${userId}, ${role}, now())`.execute(db);
  }
  return testCaller({ userId, email });
}

/** Runs a use case like the HTTP layer: in one audited transaction. Effects are queued, not run. */
export async function testMutation<T, C extends { tenant?: TenantAccess } = object>(
  db: Db,
  caller: Caller,
  useCase: (ctx: MutationCtx & C) => Promise<T>,
  options: { context?: C; mode?: 'preview' | 'execute'; auditTenantId?: string; rows?: RowDatabase } = {},
): Promise<{ value: T; result: MutationResult }> {
  let value: T | undefined;
  const { context = {} as C, mode = 'execute', auditTenantId, rows } = options;
  const base = { ...testDeps, db, caller, requestId: 'test' };
  const result = await runMutation(
    { ...base, rows },
    {
      mode,
      operation: { id: 'test', irreversible: false },
      auditTenantId: auditTenantId ?? context.tenant?.id ?? platformTenantId,
      useCase: async (ctx) => {
        value = await useCase({ ...ctx, ...context });
        return { status: 200, headers: {}, body: '' };
      },
    },
  );
  return { value: value as T, result };
}

/** Resolves once a statement in this database waits for a lock. */
export async function untilBlocked(db: Db): Promise<void> {
  for (;;) {
    const { rows } = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    if (rows.length > 0) return;
    await Bun.sleep(2);
  }
}

/** `done`, or the code of the Failure; other errors are rethrown. */
export function codeOf(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => 'done',
    (error: unknown) => (error instanceof Failure ? error.code : Promise.reject(error)),
  );
}
