import { findApp } from '../apps/record/find-app.ts';
import type { AppAccess, Caller } from '../core/context.ts';
import { databaseError } from '../core/db.ts';
import { rowsOnlyOutbox } from '../core/outbox-worker.ts';
import { Failure, problemResponse } from '../core/problem.ts';
import { createApi } from '../http/api.ts';
import type { RequestHandler } from '../http/handlers.ts';
import type { Route } from '../http/router.ts';
import { type TestDatabase, type TestTenant, testEvents, testRequestInfo } from '../testing.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers of all shapes.
export type Answer = { status: number; body: any };

export function appCalls(
  { db, rows }: Pick<TestDatabase, 'db' | 'rows'>,
  { tenant, admin }: Pick<TestTenant, 'tenant' | 'admin'>,
  { routes, path: base }: { routes: readonly Route[]; path: string },
) {
  return (caller: Caller, app: Pick<AppAccess, 'slug'>) => {
    const role = caller === admin ? 'tenant_admin' : 'tenant_member';
    const api = createApi(
      {
        db,
        outbox: rowsOnlyOutbox,
        events: testEvents,
        now: () => new Date(),
        authenticate: async () => caller,
        tenantAccess: async () => ({ ...tenant, role }),
        appAccess: (access, ref) => findApp(db, access, { ref, caller }),
        rows,
        checkAnswers: true,
      },
      routes,
    );
    const url = `http://svc.example.test/api/v1/tenants/${tenant.slug}/apps/${app.slug}${base}`;
    return async (method: string, path: string, body?: unknown, headers?: object): Promise<Answer> => {
      const sent = { 'content-type': 'application/json', ...headers };
      const request = new Request(url + path, { method, headers: sent, body: JSON.stringify(body) });
      const response = await respond(api, request);
      const text = await response.text();
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
    };
  };
}

export async function respond(handle: RequestHandler, request: Request): Promise<Response> {
  try {
    return await handle(request, new URL(request.url), testRequestInfo);
  } catch (error) {
    const failure = error instanceof Failure ? error : databaseError(error);
    if (failure) return problemResponse(failure, 'test');
    throw error;
  }
}
