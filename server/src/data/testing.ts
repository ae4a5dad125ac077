import { findApp } from '../apps/record/find-app.ts';
import { createTaggedCache } from '../core/cache.ts';
import type { AppAccess, Caller, TenantAccess } from '../core/context.ts';
import { databaseError } from '../core/db.ts';
import { listenForChanges } from '../core/invalidation.ts';
import { fixedKey } from '../core/keys.ts';
import { Failure, problemResponse } from '../core/problem.ts';
import { temporaryFolder } from '../drivers/database/testing.ts';
import { openFileStore } from '../drivers/object-store/file-store.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import { createApi } from '../http/api.ts';
import type { RequestHandler } from '../http/handlers.ts';
import type { Route } from '../http/router.ts';
import { type Answer, startServerCopy, testOrigin } from '../identity/provider/testing.ts';
import { silentLog, type TestDatabase, type TestTenant, testDeps, testRequestInfo } from '../testing.ts';
import type { createObjectsHandler } from './storage/objects-handler.ts';
import { createIssuerAccess } from './storage/signed-urls.ts';

export const testUrlKey = fixedKey('a key for tests');

/** Calls routes of a tenant as somebody, whatever their credentials and role are. */
export function callsAs(
  { db, rows, now = () => new Date() }: Pick<TestDatabase, 'db' | 'rows'> & { now?: () => Date },
  routes: readonly Route[],
  { caller, access }: { caller: Caller; access: TenantAccess },
) {
  const deps = { db, rows, now, ...testDeps, checkAnswers: true };
  const api = createApi(
    {
      ...deps,
      authenticate: async () => caller,
      tenantAccess: async () => access,
      appAccess: (found, ref) => findApp(db, found, { ref, caller }),
    },
    routes,
  );
  return (method: string, path: string, body?: unknown, headers?: object) => {
    const sent = { 'content-type': 'application/json', ...headers };
    const init = { method, headers: body === undefined ? { ...headers } : sent, body: JSON.stringify(body) };
    return answerOf(api, `/api/v1/tenants/${access.slug}${path}`, init);
  };
}

export function appCalls(
  database: Pick<TestDatabase, 'db' | 'rows'>,
  { tenant, admin }: Pick<TestTenant, 'tenant' | 'admin'>,
  { routes, path: base }: { routes: readonly Route[]; path: string },
) {
  return (caller: Caller, app: Pick<AppAccess, 'slug'>) => {
    const role = caller === admin ? 'tenant_admin' : 'tenant_member';
    const call = callsAs(database, routes, { caller, access: { ...tenant, role } });
    return (method: string, path: string, body?: unknown, headers?: object) =>
      call(method, `/apps/${app.slug}${base}${path}`, body, headers);
  };
}

export async function answerOf(handle: RequestHandler, path: string, init: RequestInit): Promise<Answer> {
  const response = await respond(handle, new Request(testOrigin + path, init));
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

/** A server with a store in a folder, and a handler of signed URLs. */
export async function startObjectServer(
  database: TestDatabase,
  { routes, handler, wrap = (objects) => objects }: ObjectServerOptions,
) {
  const { db, url } = database;
  const folder = temporaryFolder();
  const objects = wrap(openFileStore(folder.path));
  const server = await startServerCopy(database, undefined, routes(objects));
  const changes = listenForChanges({ url, log: silentLog });
  await changes.start();
  const clock = { fixed: null as Date | null };
  const handle = handler({
    db,
    objects,
    ...testDeps,
    urlKey: testUrlKey,
    now: () => clock.fixed ?? new Date(),
    issuerAccess: createIssuerAccess({ db, cache: createTaggedCache(changes, { entriesMax: 100 }) }),
  });
  return {
    ...server,
    objects,
    clock,
    use: (url: string, init?: RequestInit) => respond(handle, new Request(url, init)),
    stop: async () => {
      await changes.stop();
      await server.stop();
      await folder.remove();
    },
  };
}

interface ObjectServerOptions {
  routes: (objects: ObjectStore) => readonly Route[];
  handler: typeof createObjectsHandler;
  wrap?: (objects: ObjectStore) => ObjectStore;
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
