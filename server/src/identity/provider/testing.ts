import { useFixture } from '../../../../scripts/use-fixture.ts';
import { createAppAccess } from '../../apps/record/app-access.ts';
import { createTaggedCache } from '../../core/cache.ts';
import type { Caller } from '../../core/context.ts';
import { listenForChanges } from '../../core/invalidation.ts';
import { Failure, problemResponse } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import { createApi } from '../../http/api.ts';
import type { Route } from '../../http/router.ts';
import { meRoutes, tenantRoutes } from '../../people/module.ts';
import { createTenantAccess } from '../../people/tenants/tenants.ts';
import {
  silentLog,
  type TestDatabase,
  testCaller,
  testDeps,
  testMutation,
  testRequestInfo,
  useTestDatabase,
} from '../../testing.ts';
import { type Credential, createAuthenticate } from '../credentials/find-credential.ts';
import { patRoutes, sessionRoutes } from '../routes.ts';
import { issueAccessToken } from '../sessions/issue-token.ts';
import { openSession } from '../sessions/testing.ts';

export const testOrigin = 'http://svc.example.test';
export const operator = testCaller({ kind: 'operator', email: 'operator' });

export const peopleRoutes = [...meRoutes, ...patRoutes, ...sessionRoutes, ...tenantRoutes];

type Headers = Record<string, string>;

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all shapes.
  body: any;
}

export type ServerCopy = Awaited<ReturnType<typeof startServerCopy>>;

/** One server process with its own caches; several can share a database. */
export async function startServerCopy(
  { db, url, rows }: TestDatabase,
  now = () => new Date(),
  routes: readonly Route[] = peopleRoutes,
) {
  const changes = listenForChanges({ url, log: silentLog });
  const newCache = <T extends object>() => createTaggedCache<T>(changes, { entriesMax: 1_000 });
  const credentials = { db, cache: newCache<Credential>(), now, origin: testOrigin, log: silentLog };
  const authenticate = createAuthenticate(credentials);
  const tenantAccess = createTenantAccess({ db, cache: newCache() });
  const appAccess = createAppAccess({ db, cache: newCache() });
  const access = { authenticate, tenantAccess, appAccess };
  const deps = { db, now, rows, ...testDeps, checkAnswers: true };
  const api = createApi({ ...deps, ...access }, routes);
  await changes.start();
  return {
    ...access,
    stop: () => changes.stop(),
    async call(headers: Headers, method: string, path: string, body?: unknown): Promise<Answer> {
      const request = new Request(testOrigin + path, {
        method,
        headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      const response = await api(request, new URL(request.url), testRequestInfo).catch((error: unknown) => {
        if (error instanceof Failure) return problemResponse(error, 'test');
        throw error;
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
    },
  };
}

type Start = (database: TestDatabase) => Promise<ServerCopy>;

/** A database and a server for one test file: opened before its tests, closed after them. */
export function useServer(start: Start = (database) => startServerCopy(database)) {
  const database = useTestDatabase();
  const server = useFixture(
    () => start(database),
    (it) => it.stop(),
  );
  return { database, server };
}

/** Like `useServer`, with a second server on the same database. */
export function useTwoServers(start: Start = (database) => startServerCopy(database)) {
  const first = useServer(start);
  const other = useFixture(
    () => start(first.database),
    (it) => it.stop(),
  );
  return { ...first, other };
}

export function requestWith(headers: Headers): Request {
  return new Request(`${testOrigin}/api/v1/me`, { headers });
}

type Database = Pick<TestDatabase, 'db'>;
type User = Pick<Caller, 'userId'>;

export async function loginHeaders({ db }: Database, { userId }: User, ttlSeconds = 3600) {
  const { value } = await testMutation(db, operator, (ctx) => issueAccessToken(ctx, { userId, ttlSeconds }));
  return { authorization: `Bearer ${value.token}` };
}

/** Calls as these people; each signs in once. */
export function callsOf<Who extends string>(
  database: Database,
  server: ServerCopy,
  people: Record<Who, User>,
) {
  const logins = new Map<Who, ReturnType<typeof loginHeaders>>();
  return async (who: Who, method: string, path: string, body?: unknown) => {
    const login = logins.get(who) ?? loginHeaders(database, people[who]);
    logins.set(who, login);
    return server.call(await login, method, path, body);
  };
}

export async function browserHeaders({ db }: Database, { userId }: User) {
  const cookie = await openSession(db, userId);
  return { cookie: `svc_session=${cookie}`, 'sec-fetch-site': 'same-origin' };
}

export async function patHeaders(copy: ServerCopy, login: Headers, tenantSlug: string) {
  const { body } = await copy.call(login, 'POST', `/api/v1/tenants/${tenantSlug}/pats`, { name: 'test' });
  const secret = String(body.secret);
  return { headers: { 'x-api-key': secret }, id: String(body.id), hash: sha256(secret) };
}

/** Milliseconds until every check returns false. */
export async function msUntilRefused(checks: readonly (() => Promise<boolean>)[]): Promise<number> {
  const startedAt = performance.now();
  for (;;) {
    const answers = await Promise.all(checks.map((check) => check()));
    const elapsed = performance.now() - startedAt;
    if (!answers.includes(true) || elapsed > 5_000) return elapsed;
    await new Promise(setImmediate);
  }
}
