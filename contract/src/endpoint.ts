import type { z } from 'zod';
import type { ErrorCode } from './error-codes.ts';
import type { PatAction } from './pat-actions.ts';
import type { ServiceAccountAction } from './service-accounts.ts';

/**
 * Endpoints have no schemas at run time: loading zod takes seven times as long as a bare start, and the
 * command line only needs URLs. The schemas are in `<noun>.shapes.ts`.
 */
export interface Endpoint<
  S extends Shape = Shape,
  A extends Authority = Authority,
  K extends 'read' | 'mutate' = 'read' | 'mutate',
> {
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  summary: string;
  /** A `mutate` endpoint runs as one transaction, takes `dry_run`, `If-Plan` and is audited. */
  kind: K;
  authority: A;
  /** Who is allowed, by relation; each letter is a cell of the authorization tests. */
  who: Who;
  status: 200 | 201 | 204;
  errors?: readonly ErrorCode[];
  /** `sometimes`: the plan says whether this change is. */
  irreversible?: true | 'sometimes';
  bodyBytesMax?: number;
  perMinuteMax?: number;
  etag?: true;
  /** Carries the type only; never set. */
  shape?: S;
}

export interface Shape {
  params?: z.ZodType;
  query?: z.ZodType;
  body?: z.ZodType;
  answer: z.ZodType;
}

export interface Authority {
  credential: 'login' | 'login_or_pat';
  role?: 'tenant_member' | 'tenant_admin';
  /** Error for outsiders of the tenant, the same whether the tenant exists or not. */
  outsider?: 'forbidden' | 'not_found';
  /** Absent where the path names no app. An app that is not visible to the caller always answers 404. */
  app?: AppRelation;
  /** Also allowed on an app that is deleted and not yet purged, for its representative owner and for admins. */
  deletedApp?: 'reached';
  /** A personal access token with this action is accepted too. */
  token?: Extract<PatAction, 'deploy'>;
  /** A service account with this action is accepted too; for `storage` also the app itself. */
  account?: Extract<ServiceAccountAction, 'tables' | 'storage'>;
}

export type AppRelation =
  | 'visible'
  | 'owners'
  | 'owners_or_admin'
  | 'owner'
  | 'admin'
  | 'representative_or_admin';

/**
 * O representative owner, C co-owner, A tenant admin, M member without relation to the app, P personal access token, N anonymous,
 * X other tenant.
 */
export type Principal = 'O' | 'C' | 'A' | 'M' | 'P' | 'N' | 'X';

/**
 * `own`: one's own records. `self`: about oneself. `v`: if the app is visible to the caller. `g`: with a
 * table grant. `d`: with the action `deploy`.
 */
export type Cell = 'y' | 'n' | 'own' | 'self' | 'v' | 'g' | 'd';
export type Who = Readonly<Record<Principal, Cell>>;

type Definition<A extends Authority> = Omit<
  Endpoint<Shape, A>,
  'shape' | 'kind' | 'method' | 'status' | 'errors'
> & {
  method?: Endpoint['method'];
  status?: Endpoint['status'];
  errors?: readonly ErrorCode[];
};

/** Two calls, so that the shape is a type argument while the authority is inferred. */
const definer =
  <K extends Endpoint['kind']>(kind: K, method: Endpoint['method'], status: Endpoint['status']) =>
  <S extends Shape>() =>
  <const A extends Authority>(definition: Definition<A>): Endpoint<S, A, K> =>
    endpoint({ method, status, ...definition, kind });

export const read = definer('read', 'GET', 200);
/** Creates something. */
export const change = definer('mutate', 'POST', 201);
/** Acts on something that exists. */
export const act = definer('mutate', 'POST', 200);
export const replace = definer('mutate', 'PUT', 200);
export const update = definer('mutate', 'PATCH', 200);
export const remove = definer('mutate', 'DELETE', 204);

function endpoint<E extends Endpoint>(definition: Omit<E, 'shape'>): E {
  const { path, errors = [] } = definition;
  const namesThing = /\{(?!tenant(?:ID)?\})\w+\}/.test(path);
  return { ...definition, errors: namesThing ? ['not_found', ...errors] : errors } as E;
}

export function who(text: string): Who {
  if (!whoPattern.test(text)) throw new Error(`Not a row of the authorization table: ${text}`);
  return Object.fromEntries(text.split(' ').map((cell) => cell.split(':'))) as Who;
}

const cell = '(y|n|own|self|v|g|d)';
const whoPattern = new RegExp(`^O:${cell} C:${cell} A:${cell} M:${cell} P:${cell} N:${cell} X:${cell}$`);

export const member = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
const onlyAdmins = who('O:n C:n A:y M:n P:n N:n X:n');

export const anyMember = { authority: member, who: who('O:y C:y A:y M:y P:n N:n X:n') } as const;
export const ownRecords = { authority: member, who: who('O:own C:own A:own M:own P:n N:n X:n') } as const;
export const owners = {
  authority: { ...member, app: 'owners' },
  who: who('O:y C:y A:n M:n P:n N:n X:n'),
} as const;
export const ownersOrAdmin = {
  authority: { ...member, app: 'owners_or_admin' },
  who: who('O:y C:y A:y M:n P:n N:n X:n'),
} as const;
/** `owners` and `ownersOrAdmin` for deployments, which a token with `deploy` may make too. */
export const deployers = {
  authority: { ...owners.authority, token: 'deploy' },
  who: { ...owners.who, P: 'd' },
} as const;
export const deployersOrAdmin = {
  authority: { ...ownersOrAdmin.authority, token: 'deploy' },
  who: { ...ownersOrAdmin.who, P: 'd' },
} as const;
/** `owners` for tables and storage, which service accounts of the app may use too. */
export const tableOwners = {
  authority: { ...owners.authority, account: 'tables' },
  who: owners.who,
} as const;
export const storageOwners = {
  authority: { ...owners.authority, account: 'storage' },
  who: owners.who,
} as const;
export const representative = {
  authority: { ...member, app: 'owner' },
  who: who('O:y C:n A:n M:n P:n N:n X:n'),
} as const;
export const admins = { authority: { ...member, role: 'tenant_admin' }, who: onlyAdmins } as const;
/** The specification lists 401, 403 and 500 for access to grants: an outsider gets the same 403 for any tenant. */
export const accessAdmins = {
  authority: { ...member, role: 'tenant_admin', outsider: 'forbidden' },
  who: onlyAdmins,
} as const;

export type Input<S extends Shape> = Part<S, 'params'> & Part<S, 'query'> & Part<S, 'body'>;
type Part<S extends Shape, K extends 'params' | 'query' | 'body'> = S[K] extends z.ZodType
  ? { [P in K]: z.input<S[K]> }
  : { [P in K]?: undefined };

export type Parsed<S extends Shape> = ParsedPart<S, 'params'> &
  ParsedPart<S, 'query'> &
  ParsedPart<S, 'body'>;
type ParsedPart<S extends Shape, K extends 'params' | 'query' | 'body'> = S[K] extends z.ZodType
  ? { [P in K]: z.output<S[K]> }
  : { [P in K]: undefined };

export type Answer<S extends Shape> = z.output<S['answer']>;
