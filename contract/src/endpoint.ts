import type { z } from 'zod';
import type { ErrorCode } from './error-codes.ts';

/**
 * One endpoint of the HTTP surface, as data. Everything that speaks of it derives from here: the server's route,
 * its authority check, the OpenAPI document, the client, the authorization tests.
 *
 * Endpoints hold no schemas at run time: loading zod costs seven times a bare start, and the command-line tool
 * needs only addresses. The schemas stand beside, in `<noun>.shapes.ts`, tied to the endpoint by its type.
 */
export interface Endpoint<
  S extends Shape = Shape,
  A extends Authority = Authority,
  K extends 'read' | 'mutate' = 'read' | 'mutate',
> {
  /** `noun.verb`; the operationId of the OpenAPI document. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `{name}` for path parameters. */
  path: string;
  summary: string;
  /** A `mutate` endpoint runs as one transaction, takes `dry_run`, `If-Plan` and is audited. */
  kind: K;
  authority: A;
  /** Who may, by relation; each letter is a cell of the authorization tests. */
  who: Who;
  status: 200 | 201 | 204;
  /** Codes beyond those any endpoint of its kind can answer. */
  errors?: readonly ErrorCode[];
  /** The plan says so. */
  irreversible?: true;
  bodyBytesMax?: number;
  /** How often one person may ask; `rate_limited` beyond. */
  perMinuteMax?: number;
  /** Answers carry an `ETag`; changes take `If-Match`. */
  etag?: true;
  /** Only for the type; never set. */
  shape?: S;
}

export interface Shape {
  params?: z.ZodType;
  query?: z.ZodType;
  body?: z.ZodType;
  answer: z.ZodType;
}

export interface Authority {
  /** `login`: a PAT answers 403 `login_required`. */
  credential: 'login' | 'login_or_pat';
  /** The role in the tenant of the path; absent where the path names none. */
  role?: 'tenant_member' | 'tenant_admin';
  /** What an outsider of the tenant gets, the same for a tenant that exists and one that does not. */
  outsider?: 'forbidden' | 'not_found';
  /**
   * The relation to the app of the path; absent where the path names none. An app that the caller can not see answers
   * 404 whatever is asked of it.
   */
  app?: AppRelation;
  /** Also reaches an app that is deleted and not yet purged, for its representative owner and for admins. */
  deletedApp?: 'reached';
}

/**
 * Who of an app: whoever sees it, its owner and co-owners, these or a tenant admin, its representative owner alone, a
 * tenant admin alone, either of these two.
 */
export type AppRelation =
  | 'visible'
  | 'owners'
  | 'owners_or_admin'
  | 'owner'
  | 'admin'
  | 'representative_or_admin';

/**
 * O representative owner, C co-owner, A tenant admin, M tenant member without relation to the app, P personal
 * access token, N anonymous, X user of another tenant.
 */
export type Principal = 'O' | 'C' | 'A' | 'M' | 'P' | 'N' | 'X';

/**
 * `y` allowed, `n` denied, `own` allowed on one's own records only, `self` about oneself only, `v` if the app's
 * visibility reaches the caller, `g` with a table grant.
 */
export type Cell = 'y' | 'n' | 'own' | 'self' | 'v' | 'g';
export type Who = Readonly<Record<Principal, Cell>>;

/** In two calls, so that the shape can be named while authority and kind are inferred to the letter. */
export function endpoint<S extends Shape>() {
  return <const A extends Authority, const K extends 'read' | 'mutate'>(
    definition: Omit<Endpoint<S, A, K>, 'shape'>,
  ): Endpoint<S, A, K> => definition;
}

/** Reads `'O:n C:n A:y M:n P:n N:n X:n'`, the form in which the table is easiest to compare by eye. */
export function who(text: string): Who {
  if (!whoPattern.test(text)) throw new Error(`Not a row of the authorization table: ${text}`);
  return Object.fromEntries(text.split(' ').map((cell) => cell.split(':'))) as Who;
}

const cell = '(y|n|own|self|v|g)';
const whoPattern = new RegExp(`^O:${cell} C:${cell} A:${cell} M:${cell} P:${cell} N:${cell} X:${cell}$`);

/** What a caller of the endpoint passes in. */
export type Input<S extends Shape> = Part<S, 'params'> & Part<S, 'query'> & Part<S, 'body'>;
type Part<S extends Shape, K extends 'params' | 'query' | 'body'> = S[K] extends z.ZodType
  ? { [P in K]: z.input<S[K]> }
  : { [P in K]?: undefined };

/** What the verb behind it gets, after the schemas have parsed it. */
export type Parsed<S extends Shape> = ParsedPart<S, 'params'> &
  ParsedPart<S, 'query'> &
  ParsedPart<S, 'body'>;
type ParsedPart<S extends Shape, K extends 'params' | 'query' | 'body'> = S[K] extends z.ZodType
  ? { [P in K]: z.output<S[K]> }
  : { [P in K]: undefined };

export type Answer<S extends Shape> = z.output<S['answer']>;
