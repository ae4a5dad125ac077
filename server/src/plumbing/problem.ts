import { type ErrorCode, errorCodes } from '@svc/contract/error-codes.ts';
import type { Problem, ProblemItem } from '@svc/contract/problem.ts';

/** An error with a code of the contract. The facts go to the caller, the cause only to the log. */
export class Failure extends Error {
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  readonly errors: ProblemItem[] | undefined;
  readonly headers: Record<string, string> | undefined;

  constructor(code: ErrorCode, facts: FailureFacts, options: { cause?: unknown } = {}) {
    super(`${code}: ${facts.detail ?? errorCodes[code].means}`, options);
    this.name = 'Failure';
    this.code = code;
    this.detail = facts.detail;
    this.errors = facts.errors;
    this.headers = facts.headers;
  }
}

export interface FailureFacts {
  /** For people; never SQL, never a row value, never the existence of something invisible. */
  detail?: string;
  errors?: ProblemItem[];
  headers?: Record<string, string>;
}

export function fail(code: ErrorCode, facts: FailureFacts = {}, options: { cause?: unknown } = {}): Failure {
  return new Failure(code, facts, options);
}

/** One bad field, the most frequent refusal. */
export function invalid(field: string, detail: string, code = 'invalid'): Failure {
  return fail('validation_failed', { detail: `${field}: ${detail}`, errors: [{ field, code, detail }] });
}

export function problemResponse(failure: Failure, requestId: string): Response {
  const answer = problemAnswer(failure, requestId);
  return new Response(answer.body, answer);
}

export function problemAnswer(
  failure: Failure,
  requestId: string,
): { status: number; headers: Record<string, string>; body: string } {
  const row = errorCodes[failure.code];
  const body: Problem = {
    type: `urn:svc:problem:${failure.code}`,
    title: row.means,
    status: row.status,
    detail: failure.detail ?? row.means,
    code: failure.code,
    request_id: requestId,
  };
  if (failure.errors) body.errors = failure.errors;
  const headers: Record<string, string> = {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    ...failure.headers,
  };
  if (row.status === 401) headers['www-authenticate'] ??= 'Bearer';
  if (row.status === 429 || row.status === 503) headers['retry-after'] ??= '1';
  return { status: row.status, headers, body: JSON.stringify(body) };
}
