import type { Answer, Endpoint, Input, Shape } from './endpoint.ts';
import type { Preview } from './plan.ts';
import type { Problem } from './problem.ts';

/** Calls endpoints by their contract entry. No dependencies: browsers, servers and the command line share it. */
export interface Client {
  call<S extends Shape>(endpoint: Endpoint<S>, input: Input<S>, options?: CallOptions): Promise<Answer<S>>;
  preview<S extends Shape>(endpoint: Endpoint<S>, input: Input<S>, options?: CallOptions): Promise<Preview>;
}

export interface ClientOptions {
  baseUrl: string;
  /** Asked for each request, so that a refreshed token is taken up. */
  credential?: () => Promise<Record<string, string>> | Record<string, string>;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  headers?: Record<string, string>;
}

export interface CallOptions {
  ifPlan?: string;
  ifMatch?: string;
  idempotencyKey?: string;
  signal?: AbortSignal;
}

export function createClient(options: ClientOptions): Client {
  return {
    call: (endpoint, input, call) => send(options, endpoint, input, {}, call),
    preview: (endpoint, input, call) => send(options, endpoint, input, { dry_run: 'true' }, call),
  };
}

/** The server answered with an error. */
export class ProblemError extends Error {
  constructor(
    readonly problem: Problem,
    readonly retryAfterSeconds: number | null,
  ) {
    super(problem.detail);
    this.name = 'ProblemError';
  }
}

/** Something answered, but not this service: a proxy's page, a wrong address. */
export class UnexpectedAnswerError extends Error {
  constructor(
    readonly status: number,
    readonly url: string,
    readonly requestId: string | null,
  ) {
    super(`${url} answered ${status} with something that is not an answer of this service.`);
    this.name = 'UnexpectedAnswerError';
  }
}

async function send<T>(
  options: ClientOptions,
  endpoint: Endpoint,
  input: { params?: unknown; query?: unknown; body?: unknown },
  extraQuery: Record<string, string>,
  call: CallOptions = {},
): Promise<T> {
  const url = options.baseUrl.replace(/\/$/, '') + address(endpoint, input, extraQuery);
  const headers: Record<string, string> = {
    accept: 'application/json',
    ...options.headers,
    ...(await options.credential?.()),
  };
  const init: RequestInit = { method: endpoint.method, headers };
  if (input.body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(input.body);
  }
  if (call.ifPlan !== undefined) headers['if-plan'] = call.ifPlan;
  if (call.ifMatch !== undefined) headers['if-match'] = call.ifMatch;
  if (call.idempotencyKey !== undefined) headers['idempotency-key'] = call.idempotencyKey;
  if (call.signal) init.signal = call.signal;
  return readAnswer(await (options.fetch ?? fetch)(url, init), url);
}

/** The path and query of one call; exported for `svc schema` and for tests. */
export function address(
  endpoint: Endpoint,
  input: { params?: unknown; query?: unknown },
  extraQuery: Record<string, string> = {},
): string {
  const params = (input.params ?? {}) as Record<string, unknown>;
  const path = endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(params[name])),
  );
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...(input.query as object), ...extraQuery })) {
    if (value === undefined || value === null) continue;
    query.append(name, Array.isArray(value) ? value.join(',') : String(value));
  }
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

async function readAnswer<T>(response: Response, url: string): Promise<T> {
  const text = await response.text();
  let body: unknown;
  try {
    body = text === '' ? undefined : JSON.parse(text);
  } catch {
    throw new UnexpectedAnswerError(response.status, url, response.headers.get('x-request-id'));
  }
  if (response.ok) return body as T;
  throw answerError(response, url, body);
}

/** What an answer that is not a success says; `body` is its JSON. */
export function answerError(response: Response, url: string, body: unknown): Error {
  if (!isProblem(body))
    return new UnexpectedAnswerError(response.status, url, response.headers.get('x-request-id'));
  const retryAfter = Number(response.headers.get('retry-after'));
  return new ProblemError(body, Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter : null);
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && 'request_id' in body;
}
