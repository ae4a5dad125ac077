import type { Answer, Endpoint, Input, Shape } from './endpoint.ts';
import type { Preview } from './plan.ts';
import { answerError, UnexpectedAnswerError } from './problem.ts';

export { answerError, ProblemError, UnexpectedAnswerError } from './problem.ts';

export interface Client {
  call<S extends Shape>(endpoint: Endpoint<S>, input: Input<S>, options?: CallOptions): Promise<Answer<S>>;
  preview<S extends Shape>(endpoint: Endpoint<S>, input: Input<S>, options?: CallOptions): Promise<Preview>;
}

export interface ClientOptions {
  baseUrl: string;
  /** Called for each request, so that a refreshed token is used. */
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
