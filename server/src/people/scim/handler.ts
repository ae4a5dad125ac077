import type { MutationCtx } from '../../core/context.ts';
import { runMutation } from '../../core/mutation.ts';
import { Failure, fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { RequestHandler, RequestInfo } from '../../http/handlers.ts';
import { matchesIfNoneMatch } from '../../http/headers.ts';
import type { Deps } from '../../http/module.ts';
import { readBody } from '../../http/read-body.ts';
import { createRouter } from '../../http/router.ts';
import { bulkLimits, runBulk } from './bulk.ts';
import { resourceTypes, schemas, serviceProviderConfig } from './discovery.ts';
import { errorResponse, ScimError, scimMediaType, toScimError } from './errors.ts';
import {
  createScimGroup,
  deleteScimGroup,
  getScimGroup,
  groupResource,
  listScimGroups,
  lockScimGroup,
  modifyScimGroup,
  replaceScimGroup,
  type ScimGroup,
} from './groups.ts';
import { isReturned, listQuery, searchQuery, select } from './query.ts';
import { markTokenUsed, type ScimUserRow } from './store.ts';
import { type Directory, findDirectory } from './tokens.ts';
import {
  createScimUser,
  deleteUser,
  getUser,
  listUsers,
  lockUser,
  modifyUser,
  replaceUser,
  userResource,
} from './users.ts';

interface Resource {
  meta: { version?: string };
}

/** A hash of all attributes, so that it also changes with what other resources add, such as `groups` (RFC 7644 §3.14). */
function withVersion<T extends { meta: object }>(resource: T): T & Resource {
  const version = `W/"${sha256(JSON.stringify(resource)).slice(0, 22)}"`;
  return { ...resource, meta: { ...resource.meta, version } };
}

const matchesVersion = (sent: string, { meta: { version = '' } }: Resource) =>
  matchesIfNoneMatch(sent, version.replace(/^W\//, ''));

const isUnchanged = (request: Request, resource: Resource) =>
  matchesVersion(request.headers.get('if-none-match') ?? '', resource);

function requireVersion(request: Request, resource: Resource): void {
  const sent = request.headers.get('if-match');
  if (sent !== null && !matchesVersion(sent, resource))
    throw new ScimError(412, null, 'The resource has changed: its version is not the one in If-Match.');
}

export const scimPrefix = '/scim/v2/';
const bodyBytesMax = 2 * 1024 * 1024;

interface Call {
  deps: Deps;
  directory: Directory;
  info: RequestInfo;
  request: Request;
  query: URLSearchParams;
  id: string;
}

type Handler = (call: Call) => Promise<Response>;

const user = (row: ScimUserRow, { deps }: Call) => withVersion(userResource(row, deps.config.baseUrl));
const group = (row: ScimGroup, { deps }: Call) => withVersion(groupResource(row, deps.config.baseUrl));
/** Locks the resource, whose version the request may name. */
const lockedUser = async (ctx: MutationCtx, call: Call) =>
  requireVersion(call.request, user(await lockUser(ctx, resourceKey(call)), call));
const lockedGroup = async (ctx: MutationCtx, call: Call) =>
  requireVersion(call.request, group(await lockScimGroup(ctx, resourceKey(call)), call));

const handlers: Record<string, Handler> = {
  'GET ServiceProviderConfig': async ({ deps }) => json(200, serviceProviderConfig(deps.config.baseUrl)),
  'GET ResourceTypes': async ({ deps, query }) => fixedList(resourceTypes(deps.config.baseUrl), query),
  'GET ResourceTypes/{id}': async ({ deps, id }) => oneOf(resourceTypes(deps.config.baseUrl), id),
  'GET Schemas': async ({ deps, query }) => fixedList(schemas(deps.config.baseUrl), query),
  'GET Schemas/{id}': async ({ deps, id }) => oneOf(schemas(deps.config.baseUrl), id),

  'GET Users': async (call) => {
    const { startIndex, ...query } = listQuery(call.query);
    const { rows, total } = await listUsers(call.deps, { ...tenantOf(call), ...query });
    return list(call, { rows: rows.map((row) => user(row, call)), total, startIndex });
  },
  'POST Users/.search': (call) => search(call, 'GET Users'),
  'POST Users': (call) =>
    change(call, 201, async (ctx, body) =>
      user(await createScimUser(ctx, { ...tenantOf(call), body }), call),
    ),
  'GET Users/{id}': async (call) => one(call, user(await getUser(call.deps, resourceKey(call)), call)),
  'PUT Users/{id}': (call) =>
    change(call, 200, async (ctx, body) => {
      await lockedUser(ctx, call);
      return user(await replaceUser(ctx, { ...resourceKey(call), body }), call);
    }),
  'PATCH Users/{id}': (call) =>
    change(call, 200, async (ctx, body) => {
      await lockedUser(ctx, call);
      return user(await modifyUser(ctx, { ...resourceKey(call), body }), call);
    }),
  'DELETE Users/{id}': (call) =>
    change(call, 204, async (ctx) => {
      await lockedUser(ctx, call);
      return deleteUser(ctx, resourceKey(call));
    }),

  'GET Groups': async (call) => {
    const { startIndex, ...query } = listQuery(call.query);
    const withMembers = isReturned(call.query, 'members');
    const { rows, total } = await listScimGroups(call.deps, {
      ...tenantOf(call),
      ...query,
      withMembers,
    });
    // The version depends on the members.
    const resource = (row: ScimGroup) =>
      withMembers ? group(row, call) : groupResource(row, call.deps.config.baseUrl);
    return list(call, { rows: rows.map(resource), total, startIndex });
  },
  'POST Groups/.search': (call) => search(call, 'GET Groups'),
  'POST Groups': (call) =>
    change(call, 201, async (ctx, body) =>
      group(await createScimGroup(ctx, { ...tenantOf(call), body }), call),
    ),
  'GET Groups/{id}': async (call) => one(call, group(await getScimGroup(call.deps, resourceKey(call)), call)),
  'PUT Groups/{id}': (call) =>
    change(call, 200, async (ctx, body) => {
      await lockedGroup(ctx, call);
      return group(await replaceScimGroup(ctx, { ...resourceKey(call), body }), call);
    }),
  // Without the members, unless attributes are requested: directories do not use them, and there may be thousands.
  'PATCH Groups/{id}': (call) =>
    change(call, call.query.has('attributes') ? 200 : 204, async (ctx, body) => {
      await lockedGroup(ctx, call);
      return group(await modifyScimGroup(ctx, { ...resourceKey(call), body }), call);
    }),
  'DELETE Groups/{id}': (call) =>
    change(call, 204, async (ctx) => {
      await lockedGroup(ctx, call);
      return deleteScimGroup(ctx, resourceKey(call));
    }),
};

const search = async (call: Call, list: 'GET Users' | 'GET Groups'): Promise<Response> => {
  const query = searchQuery(await readScimJson(call.request));
  const handler = handlers[list];
  if (!handler) throw new Error(`no handler ${list}`);
  return handler({ ...call, query });
};

const tenantOf = ({ directory: { tenantId } }: Call) => ({ tenantId });
const resourceKey = (call: Call) => ({ ...tenantOf(call), id: call.id });

export function createScimHandler(deps: Deps): RequestHandler {
  const router = createRouter(
    Object.entries(handlers).map(([name, target]) => {
      const [method = '', path] = name.split(' ');
      return { method, path: `${scimPrefix}${path}`, target: { name, target } };
    }),
  );
  /** A failure is a response too, so that it can be part of a bulk response. */
  async function dispatch(call: Omit<Call, 'id'>, pathname: string): Promise<Response> {
    try {
      if (pathname === `${scimPrefix}Me`)
        throw new ScimError(501, null, 'The token belongs to a directory, not to a user.');
      const match = router.find(call.request.method, pathname);
      if (match.kind === 'wrong_method')
        throw new ScimError(405, null, `Allowed: ${match.allowed.join(', ')}.`);
      if (match.kind !== 'found') throw new ScimError(404, null, 'There is no such resource.');
      call.info.setRoute(`scim ${match.target.name}`);
      return await match.target.target({ ...call, id: match.params.id ?? '' });
    } catch (error) {
      return toResponse(error);
    }
  }

  async function bulk(call: Omit<Call, 'id'>): Promise<Response> {
    const { request, info } = call;
    info.setRoute('scim POST Bulk');
    const body = await readScimJson(request, bulkLimits.maxPayloadSize);
    const baseUrl = deps.config.baseUrl + scimPrefix.slice(0, -1);
    const answer = await runBulk(body, baseUrl, ({ method, path, version, data }) => {
      const headers = new Headers({ 'content-type': scimMediaType });
      if (version !== null) headers.set('if-match', version);
      const sent = { method, headers, ...(data === undefined ? {} : { body: JSON.stringify(data) }) };
      const pathname = `${scimPrefix}${path.slice(1)}`;
      const operation = new Request(`${deps.config.baseUrl}${pathname}`, sent);
      return dispatch({ ...call, request: operation, query: new URLSearchParams() }, pathname);
    });
    return json(200, answer);
  }

  return async (request, url, info) => {
    try {
      const directory = await findDirectory(deps.db, request);
      info.responseHeaders = deps.callerLimit?.(
        directory?.caller ?? null,
        () => info.clientAddress,
        'when_low',
      );
      if (!directory) throw new ScimError(401, null, 'Send a valid token: Authorization: Bearer svcscim_….');
      await markTokenUsed(deps.db, directory.tokenId);
      const call = { deps, directory, info, request, query: url.searchParams };
      const isBulk = url.pathname === `${scimPrefix}Bulk` && request.method === 'POST';
      return await (isBulk ? bulk(call) : dispatch(call, url.pathname.replace(/\/$/, '')));
    } catch (error) {
      return toResponse(error);
    }
  };
}

function toResponse(error: unknown): Response {
  if (error instanceof Failure) return errorResponse(toScimError(error), error.headers);
  if (error instanceof ScimError) return errorResponse(error);
  throw error;
}

async function change(
  call: Call,
  status: 200 | 201 | 204,
  useCase: (ctx: MutationCtx, body: unknown) => Promise<Versioned | undefined>,
): Promise<Response> {
  const { deps, directory, info, request } = call;
  const body = request.method === 'DELETE' ? undefined : await readScimJson(request);
  let resource: Versioned | undefined;
  await runMutation(
    { ...deps, caller: directory.caller, requestId: info.requestId, log: info.log },
    {
      mode: 'execute',
      operation: { id: 'scim', irreversible: false },
      auditTenantId: directory.tenantId,
      deadline: info.deadline,
      useCase: async (ctx) => {
        resource = await useCase(ctx, body);
        return { status, headers: {}, body: '' };
      },
    },
  );
  return resource ? one(call, resource, status) : new Response(null, { status });
}

async function readScimJson(request: Request, bytesMax = bodyBytesMax): Promise<unknown> {
  if (!/^application\/(?:scim\+)?json\s*(?:;|$)/i.test(request.headers.get('content-type') ?? ''))
    throw fail('unsupported_media_type', { detail: `Send the body as Content-Type: ${scimMediaType}.` });
  const bytes = await readBody(request, { bytesMax });
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw fail('malformed_json', {}, { cause: error });
  }
}

function json(status: number, body: object, headers: Record<string, string> = {}): Response {
  const all = { 'content-type': scimMediaType, 'cache-control': 'no-store', ...headers };
  return new Response(JSON.stringify(body), { status, headers: all });
}

interface Versioned {
  meta: { location: string; version?: string };
}

function one({ query, request }: Call, resource: Versioned, status = 200): Response {
  const { location, version = '' } = resource.meta;
  const headers = { location, etag: version };
  if (request.method === 'GET' && isUnchanged(request, resource))
    return new Response(null, { status: 304, headers });
  if (status === 204) return new Response(null, { status, headers });
  return json(status, select(resource, query), headers);
}

function oneOf(resources: readonly { id: string }[], id: string): Response {
  const resource = resources.find((each) => each.id === id);
  if (!resource) throw new ScimError(404, null, 'There is no such resource.');
  return json(200, resource);
}

function list(
  call: Call,
  { rows, total, startIndex }: { rows: object[]; total: number; startIndex: number },
) {
  const resources = rows.map((row) => select(row, call.query));
  return json(200, listMessage(resources, total, startIndex));
}

function fixedList(resources: object[], query: URLSearchParams): Response {
  // RFC 7644 §4: a client must not take all of them for those that match.
  if (query.has('filter')) throw new ScimError(403, null, 'These resources cannot be filtered.');
  return json(200, listMessage(resources, resources.length, 1));
}

const listMessage = (resources: object[], totalResults: number, startIndex: number) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
  totalResults,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
});
