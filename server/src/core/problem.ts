import { type ErrorCode, errorCodes } from '@svc/contract/error-codes.ts';
import type { Problem, ProblemItem } from '@svc/contract/problem.ts';

export class Failure extends Error {
  readonly detail: string | undefined;
  readonly errors: ProblemItem[] | undefined;
  readonly headers: Record<string, string> | undefined;
  readonly requestUrl: string | undefined;

  constructor(
    readonly code: ErrorCode,
    { detail, errors, headers, requestUrl }: FailureDetails,
    options?: ErrorOptions,
  ) {
    super(`${code}: ${detail ?? errorCodes[code].means}`, options);
    this.name = 'Failure';
    this.detail = detail;
    this.errors = errors;
    this.headers = headers;
    this.requestUrl = requestUrl;
  }
}

interface FailureDetails {
  /** For people. Never contains SQL or row values, and never reveals that something invisible exists. */
  detail?: string;
  errors?: ProblemItem[];
  headers?: Record<string, string>;
  /** The page on which the caller can request access. */
  requestUrl?: string;
}

/**
 * Without a stack trace: a failure is an answer, and its code says what it is. If a stored failure has a trace, the garbage collection
 * reads the source map of the whole server to resolve it, which stops every request for a third of a second.
 */
export function fail(code: ErrorCode, details: FailureDetails = {}, options?: ErrorOptions): Failure {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return new Failure(code, details, options);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

export function orNotFound<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw fail('not_found');
  return value;
}

export function validationError(field: string, detail: string, code = 'invalid'): Failure {
  return fail('validation_failed', { detail: `${field}: ${detail}`, errors: [{ field, code, detail }] });
}

export function problemResponse(failure: Failure, requestId: string): Response {
  const problem = renderProblem(failure, requestId);
  return new Response(problem.body, problem);
}

export function renderProblem(
  failure: Failure,
  requestId: string,
): { status: number; headers: Record<string, string>; body: string } {
  const { means, status } = errorCodes[failure.code];
  const body: Problem = {
    type: `urn:svc:problem:${failure.code}`,
    title: means,
    status,
    detail: failure.detail ?? means,
    code: failure.code,
    request_id: requestId,
  };
  if (failure.errors) body.errors = failure.errors;
  if (failure.requestUrl !== undefined) body.request_url = failure.requestUrl;
  const headers: Record<string, string> = {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    ...failure.headers,
  };
  if (status === 401) headers['www-authenticate'] ??= 'Bearer';
  if (status === 429 || status === 503) headers['retry-after'] ??= '1';
  return { status, headers, body: JSON.stringify(body) };
}
