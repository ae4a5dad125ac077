import { answerError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { isRowSegment, rowPath, tablePath } from '@svc/contract/row-path.ts';
import type { Ctx } from './context.ts';
import { usage } from './errors.ts';
import { parseExact } from './exact-json.ts';

/** The rows of one table over HTTP, as the person or the token that the environment names. */
export interface RowsClient {
  place: RowsPlace;
  call(call: RowCall): Promise<RowAnswer>;
  /** For an answer that may be larger than memory; it is a success. */
  open(call: RowCall): Promise<Response>;
}

export interface RowsPlace {
  baseUrl: string;
  tenant: string;
  app: string;
  table: string;
}

export interface RowCall {
  method?: 'POST' | 'PATCH' | 'DELETE';
  /** Of the table where it is absent. */
  of?: { id: string } | 'count';
  query?: readonly QueryPair[];
  headers?: Record<string, string>;
  /** JSON or JSON lines, sent as it is. */
  body?: string;
  /** Less time than the command has. */
  signal?: AbortSignal;
}

export type QueryPair = readonly [name: string, value: string];

export interface RowAnswer {
  /** Numbers keep every digit; undefined when the answer is empty. */
  body: unknown;
  headers: Headers;
}

export async function openRows(
  ctx: Ctx,
  { app, table }: { app: string; table: string },
): Promise<RowsClient> {
  const session = await ctx.session();
  const tenant = await tenantOf(ctx, session.credential);
  const place: RowsPlace = { baseUrl: session.baseUrl, tenant, app, table };
  return {
    place,
    call: async (call) => {
      const url = addressOf(place, call);
      const response = await session.send(url, initOf(call));
      const body = jsonOf(response, url, await response.text());
      if (!response.ok) throw answerError(response, url, body);
      return { body, headers: response.headers };
    },
    open: async (call) => {
      const url = addressOf(place, call);
      const response = await session.open(url, initOf(call));
      if (response.ok) return response;
      throw answerError(response, url, jsonOf(response, url, await response.text()));
    },
  };
}

/** A token can not ask which tenants there are. */
async function tenantOf(ctx: Ctx, credential: string): Promise<string> {
  const { resolveTenant, saidTenant } = await import('./tenant.ts');
  if (credential !== 'SVC_API_KEY') return resolveTenant(ctx);
  const { tenant } = await ctx.session();
  const known = (await saidTenant(ctx)) ?? tenant?.id;
  if (known !== undefined) return known;
  throw usage('With SVC_API_KEY the tenant must be said.', 'Pass --tenant, or set SVC_TENANT.');
}

function addressOf(place: RowsPlace, { of, query = [] }: RowCall): string {
  const search = new URLSearchParams(query.map(([name, value]) => [name, value])).toString();
  return `${place.baseUrl}${pathOf(place, of)}${search === '' ? '' : `?${search}`}`;
}

function pathOf({ tenant, app, table }: RowsPlace, of: RowCall['of']): string {
  if (of === undefined) return tablePath(tenant, app, table);
  if (of === 'count') return `${tablePath(tenant, app, table)}/_count`;
  if (!isRowSegment(of.id)) throw usage(`No address can end in the id \`${of.id}\`.`);
  return rowPath(tenant, app, table, of.id);
}

function initOf({ method = undefined, headers, body, signal }: RowCall): RequestInit {
  return {
    method: method ?? 'GET',
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body }),
    ...(signal !== undefined && { signal }),
  };
}

function jsonOf(response: Response, url: string, text: string): unknown {
  try {
    return text === '' ? undefined : parseExact(text);
  } catch {
    throw new UnexpectedAnswerError(response.status, url, response.headers.get('x-request-id'));
  }
}
