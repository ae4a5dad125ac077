import type { ErrorCode } from '@svc/contract/error-codes.ts';
import type { Problem, ProblemItem } from '@svc/contract/problem.ts';

/** `unexpected_answer`: the response is not from this service, for example from a proxy or a wrong URL. */
export type SvcErrorCode = ErrorCode | 'unexpected_answer';

export interface SvcErrorFacts {
  code: SvcErrorCode;
  status: number;
  detail: string;
  errors: readonly ProblemItem[];
  requestId: string | null;
  retryAfter: number | null;
  /** Only with `grant_missing`: a page where the person can request access. */
  requestUrl: string | null;
}

export class SvcError extends Error implements SvcErrorFacts {
  readonly code: SvcErrorCode;
  readonly status: number;
  readonly detail: string;
  readonly errors: readonly ProblemItem[];
  readonly requestId: string | null;
  readonly retryAfter: number | null;
  readonly requestUrl: string | null;

  constructor(facts: SvcErrorFacts, options?: ErrorOptions) {
    super(`${facts.code}: ${facts.detail}`, options);
    this.name = 'SvcError';
    this.code = facts.code;
    this.status = facts.status;
    this.detail = facts.detail;
    this.errors = facts.errors;
    this.requestId = facts.requestId;
    this.retryAfter = facts.retryAfter;
    this.requestUrl = facts.requestUrl;
  }
}

/** Line numbers count across all batches. Earlier batches stay stored. */
export class SvcBatchError extends SvcError {
  readonly inserted: number;

  constructor(cause: SvcError, { inserted, linesBefore }: { inserted: number; linesBefore: number }) {
    const errors = cause.errors.map((item) =>
      item.line === undefined ? item : { ...item, line: item.line + linesBefore },
    );
    super({ ...errorFacts(cause), errors, detail: lineText(errors[0]) ?? cause.detail }, { cause });
    this.name = 'SvcBatchError';
    this.inserted = inserted;
  }
}

/** The server's message contains the line number within the batch, not within all rows. */
function lineText(item: ProblemItem | undefined): string | null {
  if (item?.line === undefined) return null;
  return `line ${item.line}:${item.column === undefined ? '' : ` ${item.column}`} ${item.detail}`;
}

/** No complete response: the request may or may not have taken effect. */
export class SvcNetworkError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SvcNetworkError';
  }
}

export function responseError(response: { status: number; headers: Headers }, text: string): SvcError {
  const problem = parseProblem(text);
  const shared = {
    status: response.status,
    requestId: problem?.request_id ?? response.headers.get('x-request-id'),
    retryAfter: retryAfterSeconds(response.headers),
    requestUrl: problem?.request_url ?? null,
  };
  if (problem) {
    const { code, detail, errors = [] } = problem;
    return new SvcError({ ...shared, code, detail, errors });
  }
  const detail = `The response with status ${response.status} did not come from this service.`;
  return new SvcError({ ...shared, code: 'unexpected_answer', detail, errors: [] });
}

export function notSignedInError(): SvcError {
  const detail = 'Not signed in.';
  return new SvcError({
    code: 'unauthenticated',
    status: 401,
    detail,
    errors: [],
    requestId: null,
    retryAfter: null,
    requestUrl: null,
  });
}

function errorFacts(error: SvcError): SvcErrorFacts {
  const { code, status, detail, errors, requestId, retryAfter, requestUrl } = error;
  return { code, status, detail, errors, requestId, retryAfter, requestUrl };
}

function parseProblem(text: string): Problem | null {
  try {
    const body: unknown = JSON.parse(text);
    const isProblem = typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
    return isProblem ? (body as Problem) : null;
  } catch {
    return null;
  }
}

function retryAfterSeconds(headers: Headers): number | null {
  const text = headers.get('retry-after');
  if (text === null) return null;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : null;
}
