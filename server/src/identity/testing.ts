import { createAppAccess } from '../apps/app-access.ts';
import { meRoutes } from '../me/routes.ts';
import { patRoutes } from '../pats/routes.ts';
import { createApi } from '../plumbing/api.ts';
import { createTaggedCache } from '../plumbing/cache.ts';
import { sha256 } from '../plumbing/canonical.ts';
import type { Caller } from '../plumbing/context.ts';
import { listenForChanges } from '../plumbing/invalidation.ts';
import { Failure, problemResponse } from '../plumbing/problem.ts';
import type { Route } from '../plumbing/route.ts';
import { sessionRoutes } from '../sessions/routes.ts';
import { openSession } from '../sessions/testing.ts';
import { tenantRoutes } from '../tenants/routes.ts';
import { createTenantAccess } from '../tenants/tenant-access.ts';
import { silentLog, type TestDatabase, testCaller, testMutation } from '../testing.ts';
import { issueAccessToken } from '../users/issue-access-token.ts';
import { createAuthenticate } from './authenticate.ts';

export const testOrigin = 'http://svc.example.test';
export const operator = testCaller({ kind: 'operator', email: 'operator' });

/** Every route of the slices that know people. */
export const peopleRoutes = [...meRoutes, ...patRoutes, ...sessionRoutes, ...tenantRoutes];

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all shapes.
  body: any;
}

/** One copy of the server, with caches and ears of its own. Several on one database behave as one. */
export interface ServerCopy {
  authenticate: (request: Request) => Promise<Caller | null>;
  tenantAccess: ReturnType<typeof createTenantAccess>;
  call: (headers: Record<string, string>, method: string, path: string, body?: unknown) => Promise<Answer>;
  stop: () => Promise<void>;
}

export async function copyOfServer(
  { db, url, rows }: TestDatabase,
  now: () => Date = () => new Date(),
  routes: readonly Route[] = peopleRoutes,
): Promise<ServerCopy> {
  const changes = listenForChanges({ url, log: silentLog });
  const authenticate = createAuthenticate({
    db,
    cache: createTaggedCache(changes, { entriesMax: 1_000 }),
    now,
    origin: testOrigin,
    log: silentLog,
  });
  const tenantAccess = createTenantAccess({ db, cache: createTaggedCache(changes, { entriesMax: 1_000 }) });
  const appAccess = createAppAccess({ db, cache: createTaggedCache(changes, { entriesMax: 1_000 }) });
  const outbox = { add: async () => {}, start: async () => {}, stop: async () => {} };
  const api = createApi(
    { db, outbox, now, authenticate, tenantAccess, appAccess, rows, checkAnswers: true },
    routes,
  );
  await changes.start();
  return {
    authenticate,
    tenantAccess,
    stop: () => changes.stop(),
    async call(headers, method, path, body) {
      const request = new Request(testOrigin + path, {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const info = {
        requestId: 'test',
        log: silentLog,
        setRoute: () => {},
        clientAddress: '127.0.0.1',
        deadline: new AbortController().signal,
      };
      const response = await api(request, new URL(request.url), info).catch((error: unknown) => {
        if (error instanceof Failure) return problemResponse(error, 'test');
        throw error;
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
    },
  };
}

export function requestWith(headers: Record<string, string>): Request {
  return new Request(`${testOrigin}/api/v1/me`, { headers });
}

/** The headers of a fresh login of the user. */
export async function loginOf(
  { db }: Pick<TestDatabase, 'db'>,
  user: Pick<Caller, 'userId'>,
  ttlSeconds = 3600,
) {
  const { value } = await testMutation(db, operator, (ctx) =>
    issueAccessToken(ctx, { userId: user.userId, ttlSeconds }),
  );
  return { authorization: `Bearer ${value.token}` };
}

/** The headers of a browser in which the user is signed in. */
export async function browserOf({ db }: Pick<TestDatabase, 'db'>, user: Pick<Caller, 'userId'>) {
  const cookie = await openSession(db, user.userId);
  return { cookie: `svc_session=${cookie}`, 'sec-fetch-site': 'same-origin' };
}

/** The headers of a new PAT of a user who is logged in with `login`. */
export async function patOf(copy: ServerCopy, login: Record<string, string>, tenantSlug: string) {
  const { body } = await copy.call(login, 'POST', `/api/v1/tenants/${tenantSlug}/pats`, { name: 'test' });
  return {
    headers: { 'x-api-key': String(body.secret) },
    id: String(body.id),
    hash: sha256(String(body.secret)),
  };
}

/** How long after it is done a change goes unheard: until every one of the questions is answered with no. */
export async function heardAfterMs(questions: readonly (() => Promise<boolean>)[]): Promise<number> {
  const begun = performance.now();
  for (;;) {
    const answers = await Promise.all(questions.map((ask) => ask()));
    const elapsed = performance.now() - begun;
    if (!answers.includes(true) || elapsed > 5_000) return elapsed;
    // Lets what arrived on the sockets be heard.
    await new Promise(setImmediate);
  }
}
