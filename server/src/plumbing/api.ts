import { bodyBytesMaxDefault, idempotencyKeyCharsMax } from '@svc/contract/limits.ts';
import type { Logger } from 'pino';
import { sha256 } from './canonical.ts';
import { type AppAccess, type Caller, type Ctx, platformTenantId, type TenantAccess } from './context.ts';
import type { Db } from './db.ts';
import { knowsEtag } from './etag.ts';
import { answerBefore, type IdempotentRequest, type StoredAnswer } from './idempotency.ts';
import { isEnough } from './is-enough.ts';
import { type RowsPlace, runMutation } from './mutation.ts';
import type { Outbox } from './outbox-rows.ts';
import { parseBody, parseParams, parseQuery } from './parse-input.ts';
import { Failure, fail } from './problem.ts';
import { createRateLimit, type RateLimit } from './rate-limit.ts';
import { readJson } from './read-body.ts';
import type { Route } from './route.ts';
import { createRouter } from './router.ts';

export interface ApiParts {
  db: Db;
  outbox: Outbox;
  now: () => Date;
  authenticate: (request: Request) => Promise<Caller | null>;
  tenantAccess: (ref: string, caller: Caller) => Promise<TenantAccess | null>;
  appAccess: (tenant: TenantAccess, ref: string, caller: Caller) => Promise<AppAccess | null>;
  rows: RowsPlace;
  /** See `MutationBase`. */
  onCommitted?: (tag: string) => void;
  /** In tests: an answer that breaks its own schema becomes a 500. */
  checkAnswers: boolean;
}

export interface RequestInfo {
  requestId: string;
  log: Logger;
  /** The name under which the request is counted; set once it is known. */
  setRoute: (name: string) => void;
  clientAddress: string;
  /** Where bodies are streamed: called with each piece, the connection may be silent for a while after it. */
  patient?: () => void;
  /** Aborted when the caller has been told that it took too long: nothing may be committed after that. */
  deadline: AbortSignal;
}

type Context = Ctx & { tenant?: TenantAccess; app?: AppAccess };

/** Answers `/api/v1/…`: finds the route, checks who asks, then what, then runs the verb. */
export function createApi(
  parts: ApiParts,
  routes: readonly Route[],
): (request: Request, url: URL, info: RequestInfo) => Promise<Response> {
  const router = createRouter(
    routes.map((route) => ({ method: route.endpoint.method, path: route.endpoint.path, target: route })),
  );
  // Only where one can be asked for by itself has a new one an address.
  const members = routes
    .filter(({ endpoint }) => endpoint.method === 'GET')
    .map(({ endpoint }) => endpoint.path);
  const collections = new Set(
    members.filter((path) => path.endsWith('}')).map((path) => path.replace(/\/\{\w+\}$/, '')),
  );
  const rateLimit = createRateLimit(parts.now);
  return async (request, url, info) => {
    const found = router.find(request.method === 'HEAD' ? 'GET' : request.method, url.pathname);
    if (found.kind === 'malformed')
      throw fail('validation_failed', { detail: 'The path is not well encoded.' });
    if (found.kind === 'none') throw fail('not_found', { detail: 'No such path.' });
    if (found.kind === 'wrong_method') {
      throw fail('method_not_allowed', { headers: { allow: found.allowed.join(', ') } });
    }
    info.setRoute(found.target.endpoint.id);
    return answerRoute({ ...parts, collections, rateLimit }, found.target, found.params, request, url, info);
  };
}

async function answerRoute(
  parts: ApiParts & { collections: ReadonlySet<string>; rateLimit: RateLimit },
  route: Route,
  rawParams: Record<string, string>,
  request: Request,
  url: URL,
  info: RequestInfo,
): Promise<Response> {
  const { endpoint, shape } = route;
  // Who asks is settled before the body is looked at.
  let before: Awaited<ReturnType<typeof judge>>;
  try {
    before = await judge(parts, route, rawParams, request);
  } catch (error) {
    const kept = await replayOf(parts, route, request, url, error);
    if (kept) return send(kept);
    throw error;
  }
  if (endpoint.perMinuteMax !== undefined)
    parts.rateLimit(`${endpoint.id} ${before.caller.userId}`, endpoint.perMinuteMax);
  const query = new URLSearchParams(url.search);
  const mode = modeOf(endpoint.kind, query);
  const params = parseParams(shape.params, rawParams);
  const parsedQuery = parseQuery(shape.query, query);
  const json = await readJson(request, endpoint.bodyBytesMax ?? bodyBytesMaxDefault);
  // And once more behind it: a body may take half a minute, and what ended meanwhile has ended.
  const { caller, place } = request.body === null ? before : await judge(parts, route, rawParams, request);
  const body = parseBody(shape.body, json);
  const input = { params, query: parsedQuery, body, ifMatch: request.headers.get('if-match') ?? undefined };

  const base = { requestId: info.requestId, log: info.log, caller, ...place };
  const idempotency = idempotencyOf(request, url, caller, json);
  // Others who are asked a second time may answer otherwise: a code that was redeemed is unknown then.
  if (route.prepare && !route.beforeReplay && idempotency && mode === 'execute') {
    const kept = await answerBefore(parts.db, idempotency);
    if (kept) return send(kept);
  }
  const prepared = await route.prepare?.(
    { ...base, db: parts.db, now: parts.now() } as never,
    input as never,
    { mode },
  );
  const run = async (ctx: Context): Promise<StoredAnswer> => {
    const answer = await route.answer(ctx as never, input as never, prepared as never);
    if (parts.checkAnswers) shape.answer.parse(answer);
    const headers: Record<string, string> = {};
    if (route.etag) headers.etag = route.etag(answer as never);
    if (endpoint.status === 201 && parts.collections.has(endpoint.path) && hasId(answer))
      headers.location = `${url.pathname}/${answer.id}`;
    if (
      endpoint.kind === 'read' &&
      headers.etag &&
      knowsEtag(request.headers.get('if-none-match'), headers.etag)
    ) {
      return { status: 304, headers, body: '' };
    }
    // Nothing was created where nothing changed.
    const status = endpoint.status === 201 && isUnchanged(answer) ? 200 : endpoint.status;
    return { status, headers, body: status === 204 ? '' : JSON.stringify(answer) };
  };
  const isRead = endpoint.kind === 'read';
  // What changes nothing needs a transaction only for the answer to be kept in.
  if (isRead && !idempotency) return send(await run({ ...base, db: parts.db, now: parts.now() }));

  const result = await runMutation(
    {
      ...base,
      db: parts.db,
      outbox: parts.outbox,
      rows: parts.rows,
      ...(parts.onCommitted ? { onCommitted: parts.onCommitted } : {}),
    },
    {
      mode,
      operation: { id: endpoint.id, irreversible: endpoint.irreversible === true },
      auditTenantId: place.tenant?.id ?? platformTenantId,
      deadline: info.deadline,
      ...(isRead ? {} : ifPlanOf(request)),
      ...(idempotency ? { idempotency } : {}),
      beforeReplay: async (ctx) => route.beforeReplay?.({ ...ctx, ...place } as never, input as never),
      verb: (ctx) => run({ ...ctx, ...place }),
    },
  );
  if (result.kind === 'done') return send(result.answer);
  return send({ status: 200, headers: {}, body: JSON.stringify({ dry_run: true, plan: result.plan }) });
}

/**
 * What was asked for may have taken away what it was asked of, such as a purged app: who repeats the very request is
 * told what they were told before, and not that it is gone.
 */
async function replayOf(
  parts: ApiParts,
  route: Route,
  request: Request,
  url: URL,
  error: unknown,
): Promise<StoredAnswer | null> {
  const { endpoint } = route;
  const isGone = error instanceof Failure && error.code === 'not_found' && endpoint.kind === 'mutate';
  // Of what is gone nobody can say whether the answer may be given again.
  if (!isGone || route.beforeReplay || !request.headers.has('idempotency-key')) return null;
  const caller = await callerFor(parts, route, request);
  const json = await readJson(request, endpoint.bodyBytesMax ?? bodyBytesMaxDefault);
  const idempotency = idempotencyOf(request, url, caller, json);
  return idempotency ? answerBefore(parts.db, idempotency) : null;
}

function idempotencyOf(
  request: Request,
  url: URL,
  caller: Caller,
  json: unknown,
): IdempotentRequest | undefined {
  const key = request.method === 'POST' ? idempotencyKeyOf(request) : undefined;
  if (key === undefined) return undefined;
  const text = `${request.method} ${url.pathname}${url.search}\n${JSON.stringify(json ?? null)}`;
  return { callerId: caller.userId, key, requestHash: sha256(text) };
}

/** Who asks, and what they are to the tenant and the app of the path; a refusal where that is not enough. */
async function judge(
  parts: ApiParts,
  route: Route,
  params: Record<string, string>,
  request: Request,
): Promise<{ caller: Caller; place: { tenant?: TenantAccess; app?: AppAccess } }> {
  const caller = await callerFor(parts, route, request);
  const tenant = await tenantFor(parts, route, params, caller);
  const app = tenant && (await appFor(parts, route, params, tenant, caller));
  return { caller, place: { ...(tenant ? { tenant } : {}), ...(app ? { app } : {}) } };
}

async function callerFor(parts: ApiParts, route: Route, request: Request): Promise<Caller> {
  const caller = await parts.authenticate(request);
  if (!caller) throw fail('unauthenticated');
  // The kind of credential is looked at before any role is.
  if (caller.kind === 'pat' && route.endpoint.authority.credential === 'login') throw fail('login_required');
  return caller;
}

async function tenantFor(
  parts: ApiParts,
  route: Route,
  params: Record<string, string>,
  caller: Caller,
): Promise<TenantAccess | undefined> {
  const { role, outsider } = route.endpoint.authority;
  if (!role) return undefined;
  const tenant = await parts.tenantAccess(params.tenantID ?? '', caller);
  // A token is good in its own tenant only, wherever else its issuer is a member.
  if (!tenant || (caller.scope && caller.scope.tenantId !== tenant.id)) throw fail(outsider ?? 'not_found');
  if (role === 'tenant_admin' && tenant.role !== 'tenant_admin') throw fail('forbidden');
  return tenant;
}

async function appFor(
  parts: ApiParts,
  route: Route,
  params: Record<string, string>,
  tenant: TenantAccess,
  caller: Caller,
): Promise<AppAccess | undefined> {
  const wanted = route.endpoint.authority.app;
  if (!wanted) return undefined;
  const app = await parts.appAccess(tenant, params.app ?? '', caller);
  if (!app) throw fail('not_found');
  if (app.record === 'deleted' && !route.endpoint.authority.deletedApp) throw fail('not_found');
  if (!isEnough(wanted, app, tenant)) throw fail('forbidden');
  return app;
}

function modeOf(kind: 'read' | 'mutate', query: URLSearchParams): 'preview' | 'execute' {
  if (kind === 'read') return 'execute';
  const values = query.getAll('dry_run');
  query.delete('dry_run');
  if (values.length === 0) return 'execute';
  if (values.length > 1 || (values[0] !== 'true' && values[0] !== 'false')) {
    throw fail('validation_failed', {
      detail: 'dry_run is true or false.',
      errors: [{ field: 'dry_run', code: 'invalid', detail: 'is true or false' }],
    });
  }
  return values[0] === 'true' ? 'preview' : 'execute';
}

function idempotencyKeyOf(request: Request): string | undefined {
  const key = request.headers.get('idempotency-key');
  if (key === null) return undefined;
  if (key.length === 0 || key.length > idempotencyKeyCharsMax) {
    throw fail('validation_failed', {
      detail: `Idempotency-Key is 1 to ${idempotencyKeyCharsMax} characters.`,
    });
  }
  return key;
}

function isUnchanged(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'changed' in answer && answer.changed === false;
}

function hasId(answer: unknown): answer is { id: string } {
  return typeof answer === 'object' && answer !== null && 'id' in answer;
}

function ifPlanOf(request: Request): { ifPlan?: string } {
  const ifPlan = request.headers.get('if-plan');
  return ifPlan === null ? {} : { ifPlan: ifPlan.replace(/^"|"$/g, '') };
}

function send(answer: StoredAnswer): Response {
  if (answer.status === 204 || answer.status === 304) return new Response(null, answer);
  return new Response(answer.body, {
    status: answer.status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...answer.headers },
  });
}
