import { sql } from 'kysely';
import { findApp } from '../apps/find-app.ts';
import { newApp } from '../apps/testing.ts';
import { createRawDatabases, type RawDatabases } from '../drivers/raw-database/raw-databases.ts';
import { serverAt } from '../drivers/raw-database/raw-server.ts';
import { createApi } from '../plumbing/api.ts';
import type { AppAccess, Caller, MutationCtx, TenantAccess } from '../plumbing/context.ts';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import { Failure, problemResponse } from '../plumbing/problem.ts';
import { newTenant, newUser, silentLog, type TestDatabase, testMutation } from '../testing.ts';
import { rawDbRoutes } from './routes.ts';
import { settleRawDb } from './settle-raw-db.ts';

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all shapes.
  body: any;
}

export interface RawWorld {
  tenant: TenantAccess;
  people: Record<'owner' | 'coOwner' | 'admin' | 'member', Caller>;
  app: AppAccess;
  raw: RawDatabases;
  /** Below the app's `raw-db`, as the owner unless somebody else is named. */
  call(method: string, path: string, by?: Caller, headers?: Record<string, string>): Promise<Answer>;
  /** What else changes the database, as other slices call it. */
  change(
    verb: (ctx: MutationCtx, of: { tenantId: string; appId: string }) => Promise<unknown>,
  ): Promise<void>;
  /** Carries out, once each, what was queued for this app's databases and was not carried out yet. */
  settle(): Promise<number>;
}

export const rawOn = ({ url }: Pick<TestDatabase, 'url'>) =>
  createRawDatabases({ installation: 'test', server: serverAt(url) });

/** An app of the test's own, on the server that the test database is on, reached by its socket. */
export async function rawWorld(database: TestDatabase, raw = rawOn(database)): Promise<RawWorld> {
  const { db } = database;
  const { tenant, admin, member } = await newTenant(db);
  const [owner, coOwner] = [await newUser(db, tenant.id), await newUser(db, tenant.id)];
  const app = await newApp(db, tenant, owner, { coOwners: [coOwner] });
  const effect = settleRawDb({ db, raw });

  const call: RawWorld['call'] = async (method, path, by = owner, headers = {}) => {
    const role: TenantAccess['role'] = by === admin ? 'tenant_admin' : 'tenant_member';
    const api = createApi(
      {
        db,
        outbox: rowsOnly,
        now: () => new Date(),
        authenticate: async () => by,
        tenantAccess: async () => ({ ...tenant, role }),
        appAccess: (access, ref) => findApp(db, access, { ref, caller: by }),
        rows: database.rows,
        checkAnswers: true,
      },
      rawDbRoutes({ raw }),
    );
    const url = `http://svc.example.test/api/v1/tenants/${tenant.slug}/apps/${app.slug}/raw-db${path}`;
    const request = new Request(url, { method, headers });
    const response = await api(request, new URL(request.url), {
      requestId: 'test',
      log: silentLog,
      setRoute: () => {},
      clientAddress: '127.0.0.1',
      deadline: new AbortController().signal,
    }).catch((error: unknown) => {
      if (error instanceof Failure) return problemResponse(error, 'test');
      throw error;
    });
    return { status: response.status, body: await response.json() };
  };

  return {
    tenant,
    people: { owner, coOwner, admin, member },
    app,
    raw,
    call,
    change: async (verb) => {
      await testMutation(db, owner, (ctx) => verb(ctx, { tenantId: tenant.id, appId: app.id }), {
        auditTenantId: tenant.id,
      });
    },
    settle: async () => {
      const { rows } = await sql<{ id: string; payload: Record<string, unknown> }>`
        update svc.outbox set done_at = now()
        where topic = 'rawDb.settle' and payload->>'tenant_id' = ${tenant.id} and done_at is null
        returning id, payload`.execute(db);
      for (const { payload } of rows) await effect(payload);
      return rows.length;
    },
  };
}
