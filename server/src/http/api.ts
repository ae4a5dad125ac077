import type { Authority } from '@svc/contract/endpoint.ts';
import { bodyBytesMaxDefault, idempotencyKeyCharsMax } from '@svc/contract/limits.ts';
import { previewOperations } from '@svc/contract/previews.ts';
import {
  type AppAccess,
  type Caller,
  type Ctx,
  platformTenantId,
  satisfiesRelation,
  type TenantAccess,
} from '../core/context.ts';
import type { Db } from '../core/db.ts';
import type { EventSource } from '../core/events.ts';
import { findStoredResponse, type IdempotentRequest, type StoredResponse } from '../core/idempotency.ts';
import { type RowDatabase, runMutation } from '../core/mutation.ts';
import type { Outbox } from '../core/outbox-worker.ts';
import { Failure, fail, validationError } from '../core/problem.ts';
import { sha256 } from '../core/values.ts';
import type { RequestHandler, RequestInfo } from './handlers.ts';
import { matchesIfNoneMatch } from './headers.ts';
import { parseBody, parseParams, parseQuery } from './parse-input.ts';
import { type CallerLimit, createRateLimit, type RateLimit } from './rate-limit.ts';
import { readJson } from './read-body.ts';
import { createRouter, type Route } from './router.ts';

interface AccessDeps {
  authenticate: (request: Request) => Promise<Caller | null>;
  tenantAccess: (ref: string, caller: Caller) => Promise<TenantAccess | null>;
  appAccess: (tenant: TenantAccess, ref: string, caller: Caller) => Promise<AppAccess | null>;
}

interface Authorized {
  caller: Caller;
  tenant?: TenantAccess;
  app?: AppAccess;
}

async function authorize(
  deps: AccessDeps,
  authority: Authority,
  params: Record<string, string>,
  request: Request,
): Promise<Authorized> {
  const caller = await authenticateCaller(deps, authority, request);
  const { role, outsider } = authority;
  if (!role) return { caller };
  const tenant = await deps.tenantAccess(params.tenantID ?? '', caller);
  // A token is valid in its own tenant only, also where its issuer is a member of others.
  if (!tenant || (caller.scope && caller.scope.tenantId !== tenant.id)) throw fail(outsider ?? 'not_found');
  if (role === 'tenant_admin' && tenant.role !== 'tenant_admin') throw fail('forbidden');
  if (!authority.app) return { caller, tenant };
  const app = await deps.appAccess(tenant, params.app ?? '', caller);
  if (!app || (app.record === 'deleted' && !authority.deletedApp)) throw fail('not_found');
  const onlyApps = caller.scope?.apps ?? [];
  if (onlyApps.length > 0 && !onlyApps.includes(app.id)) throw fail('not_found');
  if (!satisfiesRelation(authority.app, app, tenant)) throw fail('forbidden');
  return { caller, tenant, app };
}

async function authenticateCaller(deps: AccessDeps, authority: Authority, request: Request): Promise<Caller> {
  const caller = await deps.authenticate(request);
  if (!caller) throw fail('unauthenticated');
  const isToken = caller.kind === 'pat' || caller.scope !== undefined;
  if (!isToken || authority.credential === 'login_or_pat') return caller;
  const required = authority.token ?? (caller.ownApp && authority.account);
  if (required === undefined) throw fail('login_required');
  if (!caller.scope?.actions.includes(required))
    throw fail('forbidden', { detail: `The token does not have the action ${required}.` });
  return caller;
}

interface ApiDeps extends AccessDeps {
  db: Db;
  outbox: Outbox;
  now: () => Date;
  rows: RowDatabase;
  onCommitted?: (tag: string) => void;
  events: EventSource;
  checkAnswers: boolean;
  callerLimit?: CallerLimit;
}

type RequestCtx = Ctx & { tenant?: TenantAccess; app?: AppAccess };

export function createApi(deps: ApiDeps, routes: readonly Route[]): RequestHandler {
  const router = createRouter(
    routes.map((route) => ({ method: route.endpoint.method, path: route.endpoint.path, target: route })),
  );
  // Collections whose members have a GET endpoint: only these give a new member a Location header.
  const memberPaths = routes
    .filter(({ endpoint }) => endpoint.method === 'GET' && endpoint.path.endsWith('}'))
    .map(({ endpoint }) => endpoint.path);
  const collections = new Set(memberPaths.map((path) => path.replace(/\/\{\w+\}$/, '')));
  const rateLimit = createRateLimit(deps.now);
  return async (request, url, info) => {
    if (deps.callerLimit) {
      const caller = await deps.authenticate(request).catch(nullIfRefused);
      info.responseHeaders = deps.callerLimit(caller, () => info.clientAddress, 'always');
    }
    const match = router.find(request.method === 'HEAD' ? 'GET' : request.method, url.pathname);
    if (match.kind === 'malformed')
      throw fail('validation_failed', { detail: 'The path is not well encoded.' });
    if (match.kind === 'none') throw fail('not_found', { detail: 'No such path.' });
    if (match.kind === 'wrong_method')
      throw fail('method_not_allowed', { headers: { allow: match.allowed.join(', ') } });
    info.setRoute(match.target.endpoint.id);
    return handleRoute({ ...deps, collections, rateLimit }, match.target, match.params, request, url, info);
  };
}

/** Authorization reports the reason. */
function nullIfRefused(error: unknown): null {
  if (error instanceof Failure) return null;
  throw error;
}

async function handleRoute(
  deps: ApiDeps & { collections: ReadonlySet<string>; rateLimit: RateLimit },
  route: Route,
  rawParams: Record<string, string>,
  request: Request,
  url: URL,
  info: RequestInfo,
): Promise<Response> {
  const { endpoint, shape } = route;
  const isRead = endpoint.kind === 'read';
  let authorized: Authorized;
  try {
    authorized = await authorize(deps, endpoint.authority, rawParams, request);
    requirePreviewOperation(endpoint.id, authorized);
    if (endpoint.kind === 'mutate' && authorized.caller.scope?.isReadOnly)
      throw fail('forbidden', { detail: 'The deployment of this instance is in review: it may only read.' });
  } catch (error) {
    const replay = await findReplay(deps, route, request, url, error);
    if (replay) return toResponse(replay);
    throw error;
  }
  if (endpoint.perMinuteMax !== undefined)
    deps.rateLimit(`${endpoint.id} ${authorized.caller.userId}`, endpoint.perMinuteMax);
  const query = new URLSearchParams(url.search);
  const mode = readMode(endpoint.kind, query);
  const params = parseParams(shape.params, rawParams);
  const parsedQuery = parseQuery(shape.query, query);
  const json = await readJson(request, endpoint.bodyBytesMax ?? bodyBytesMaxDefault);
  // Authorized again: a body may take half a minute, and rights may have ended meanwhile.
  if (request.body !== null) authorized = await authorize(deps, endpoint.authority, rawParams, request);
  const { caller, tenant, app } = authorized;
  const body = parseBody(shape.body, json);
  const input = { params, query: parsedQuery, body, ifMatch: request.headers.get('if-match') ?? undefined };

  const base = { requestId: info.requestId, log: info.log, caller, tenant, app };
  const idempotency = readIdempotency(request, url, caller, json);
  // Looked up before `prepare`: a remote system may answer a repeated call differently (a code redeems once).
  if (route.prepare && !route.beforeReplay && idempotency && mode === 'execute') {
    const stored = await findStoredResponse(deps.db, idempotency);
    if (stored) return toResponse(stored);
  }
  const prepared = await route.prepare?.({ ...base, db: deps.db, now: deps.now() } as never, input as never, {
    mode,
  });
  const run = async (ctx: RequestCtx): Promise<StoredResponse> => {
    const answer = await route.handler(ctx as never, input as never, prepared as never);
    if (deps.checkAnswers) shape.answer.parse(answer);
    const headers: Record<string, string> = {};
    if (route.etag) headers.etag = route.etag(answer as never);
    if (endpoint.status === 201 && deps.collections.has(endpoint.path) && hasId(answer))
      headers.location = `${url.pathname}/${answer.id}`;
    const ifNoneMatch = isRead ? request.headers.get('if-none-match') : null;
    if (headers.etag && matchesIfNoneMatch(ifNoneMatch, headers.etag))
      return { status: 304, headers, body: '' };
    const status = endpoint.status === 201 && isUnchanged(answer) ? 200 : endpoint.status;
    return { status, headers, body: status === 204 ? '' : JSON.stringify(answer) };
  };
  if (isRead && !idempotency) return toResponse(await run({ ...base, db: deps.db, now: deps.now() }));

  const result = await runMutation(
    { ...deps, ...base },
    {
      mode,
      operation: { id: endpoint.id, irreversible: endpoint.irreversible === true },
      auditTenantId: tenant?.id ?? platformTenantId,
      deadline: info.deadline,
      ifPlan: isRead ? undefined : request.headers.get('if-plan')?.replace(/^"|"$/g, ''),
      idempotency,
      beforeReplay: async (ctx) => route.beforeReplay?.({ ...ctx, tenant, app } as never, input as never),
      useCase: (ctx) => run({ ...ctx, tenant, app }),
    },
  );
  if (result.kind === 'done') return toResponse(result.response);
  if (deps.checkAnswers && result.plan.irreversible && !endpoint.irreversible)
    throw new Error(`${endpoint.id} has an irreversible plan, which the contract does not say.`);
  return toResponse({ status: 200, headers: {}, body: JSON.stringify({ dry_run: true, plan: result.plan }) });
}

function requirePreviewOperation(id: string, { app }: Authorized): void {
  if (!app || app.previewOf === null || previewOperations.has(id)) return;
  throw fail('forbidden', { detail: `${app.slug} is the preview of a branch. Change its app instead.` });
}

/** For a repeated request whose target is gone (the purge of an app): replay instead of `not_found`. */
async function findReplay(
  deps: ApiDeps,
  { endpoint, beforeReplay }: Route,
  request: Request,
  url: URL,
  error: unknown,
): Promise<StoredResponse | null> {
  const isGone = error instanceof Failure && error.code === 'not_found' && endpoint.kind === 'mutate';
  // `beforeReplay` cannot be evaluated once its target is gone.
  if (!isGone || beforeReplay || !request.headers.has('idempotency-key')) return null;
  const caller = await authenticateCaller(deps, endpoint.authority, request);
  const json = await readJson(request, endpoint.bodyBytesMax ?? bodyBytesMaxDefault);
  const idempotency = readIdempotency(request, url, caller, json);
  return idempotency ? findStoredResponse(deps.db, idempotency) : null;
}

function readIdempotency(
  request: Request,
  url: URL,
  caller: Caller,
  json: unknown,
): IdempotentRequest | undefined {
  const key = request.method === 'POST' ? request.headers.get('idempotency-key') : null;
  if (key === null) return undefined;
  if (key.length === 0 || key.length > idempotencyKeyCharsMax) {
    throw fail('validation_failed', {
      detail: `Idempotency-Key must have 1 to ${idempotencyKeyCharsMax} characters.`,
    });
  }
  const text = `${request.method} ${url.pathname}${url.search}\n${JSON.stringify(json ?? null)}`;
  // With the key, of which only a hash is stored: a body may contain a password.
  return { callerId: caller.userId, key, requestHash: sha256(`${key}\n${text}`) };
}

function readMode(kind: 'read' | 'mutate', query: URLSearchParams): 'preview' | 'execute' {
  if (kind === 'read') return 'execute';
  const values = query.getAll('dry_run');
  query.delete('dry_run');
  if (values.length === 0) return 'execute';
  if (values.length > 1 || (values[0] !== 'true' && values[0] !== 'false'))
    throw validationError('dry_run', 'must be true or false');
  return values[0] === 'true' ? 'preview' : 'execute';
}

function isUnchanged(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'changed' in answer && answer.changed === false;
}

function hasId(answer: unknown): answer is { id: string } {
  return typeof answer === 'object' && answer !== null && 'id' in answer;
}

function toResponse(stored: StoredResponse): Response {
  if (stored.status === 204 || stored.status === 304) return new Response(null, stored);
  return new Response(stored.body, {
    status: stored.status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...stored.headers },
  });
}
