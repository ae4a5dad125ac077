import type { ErrorCode } from './error-codes.ts';

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  request_id: string;
  errors?: ProblemItem[];
  /** Only with `grant_missing`: a page of the console where the caller can request the grant. */
  request_url?: string;
}

export interface ProblemItem {
  field?: string;
  column?: string;
  line?: number;
  /** Index of the operation in an atomic batch. */
  operation?: number;
  code: string;
  detail: string;
}

export class ProblemError extends Error {
  constructor(
    readonly problem: Problem,
    readonly retryAfterSeconds: number | null,
  ) {
    super(problem.detail);
    this.name = 'ProblemError';
  }
}

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

export function answerError(response: Response, url: string, body: unknown): Error {
  if (!isProblem(body))
    return new UnexpectedAnswerError(response.status, url, response.headers.get('x-request-id'));
  const retryAfter = Number(response.headers.get('retry-after'));
  return new ProblemError(body, Number.isFinite(retryAfter) && retryAfter > 0 ? retryAfter : null);
}

function isProblem(body: unknown): body is Problem {
  return typeof body === 'object' && body !== null && 'code' in body && 'request_id' in body;
}
