import { sql } from 'kysely';
import pino from 'pino';
import { freshDatabase } from './drivers/database/testing.ts';
import { migrationsDirectory } from './migrations-directory.ts';
import type { Caller, MutationCtx, TenantAccess } from './plumbing/context.ts';
import { type Db, openControlDatabase } from './plumbing/db.ts';
import { migrate } from './plumbing/migrate.ts';
import { type MutationResult, type RowsPlace, runMutation } from './plumbing/mutation.ts';
import { rowsOnly } from './plumbing/outbox-rows.ts';
import { Failure } from './plumbing/problem.ts';
import { besideControl } from './rows-place.ts';

/** For tests of slices: real PostgreSQL, a database per test file, copied from one that is migrated once. */
export interface TestDatabase {
  url: string;
  rowsUrl: string;
  adminUrl: string;
  db: Db;
  /** For verbs that shape apps' tables. */
  rows: RowsPlace;
  close(): Promise<void>;
}

let template: Promise<string> | undefined;

export async function testDatabase(): Promise<TestDatabase> {
  template ??= makeTemplate();
  const fresh = await freshDatabase({ template: await template });
  const control = openControlDatabase(fresh.controlUrl, {
    connectionsMax: 20,
    // Test files share the machine with others.
    connecting: 'patient',
    onError: () => {},
  });
  return {
    url: fresh.controlUrl,
    rowsUrl: fresh.rowsUrl,
    adminUrl: fresh.adminUrl,
    db: control.db,
    rows: besideControl(fresh.rowsUrl),
    close: async () => {
      await control.close();
      await fresh.drop();
    },
  };
}

export const silentLog = pino({ level: 'silent' });

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

export interface TestTenant {
  tenant: TenantAccess;
  admin: Caller;
  member: Caller;
  /** The context of the tenant's admin. */
  context: { tenant: TenantAccess };
}

/** A tenant of the test's own, with an admin and a member. */
export async function newTenant(db: Db): Promise<TestTenant> {
  const id = Bun.randomUUIDv7();
  const slug = `t-${id.replaceAll('-', '').slice(-20)}`;
  await sql`insert into svc.tenants (id, slug, name, created_at) values (${id}, ${slug}, ${slug}, now())`.execute(
    db,
  );
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
  await sql`insert into svc.users (id, email, name, created_at) values (${userId}, ${email}, 'Someone', now())`.execute(
    db,
  );
  if (tenantId !== null) {
    await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
      values (${tenantId}, ${userId}, ${role}, now())`.execute(db);
  }
  return testCaller({ userId, email });
}

/** Runs one verb as the HTTP layer would: one transaction, audited. Effects are only written down. */
export async function testMutation<T, C extends { tenant?: TenantAccess } = object>(
  db: Db,
  caller: Caller,
  verb: (ctx: MutationCtx & C) => Promise<T>,
  options: { context?: C; mode?: 'preview' | 'execute'; auditTenantId?: string; rows?: RowsPlace } = {},
): Promise<{ value: T; result: MutationResult }> {
  let value: T | undefined;
  const result = await runMutation(
    { db, outbox: rowsOnly, caller, requestId: 'test', log: silentLog, rows: options.rows ?? noRowsRole },
    {
      mode: options.mode ?? 'execute',
      operation: { id: 'test', irreversible: false },
      auditTenantId:
        options.auditTenantId ?? options.context?.tenant?.id ?? '00000000-0000-0000-0000-000000000000',
      verb: async (ctx) => {
        value = await verb({ ...ctx, ...(options.context ?? ({} as C)) });
        return { status: 200, headers: {}, body: '' };
      },
    },
  );
  return { value: value as T, result };
}

/** Tables are made, and no role is let into them. */
const noRowsRole: RowsPlace = { db: null, role: null };

/** How an attempt ended: `done`, or the code of its refusal; anything else is a fault of the test. */
export function codeOf(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => 'done',
    (error: unknown) => (error instanceof Failure ? error.code : Promise.reject(error)),
  );
}
