import type { ErrorCode } from '@svc/contract/error-codes.ts';
import type { Problem, ProblemItem } from '@svc/contract/problem.ts';

/** `unexpected_answer`: something answered, but not this service; a proxy's page, a wrong address. */
export type SvcErrorCode = ErrorCode | 'unexpected_answer';

export interface SvcErrorFacts {
  code: SvcErrorCode;
  status: number;
  detail: string;
  /** Where it is wrong: by field, column or line. */
  errors: readonly ProblemItem[];
  /** Finds the request in the server's log. */
  requestId: string | null;
  /** In seconds, where the server says when to come back. */
  retryAfter: number | null;
}

/** The server refused. Compare `code`; the text is for people. */
export class SvcError extends Error implements SvcErrorFacts {
  readonly code: SvcErrorCode;
  readonly status: number;
  readonly detail: string;
  readonly errors: readonly ProblemItem[];
  readonly requestId: string | null;
  readonly retryAfter: number | null;

  constructor(facts: SvcErrorFacts, options?: ErrorOptions) {
    super(`${facts.code}: ${facts.detail}`, options);
    this.name = 'SvcError';
    this.code = facts.code;
    this.status = facts.status;
    this.detail = facts.detail;
    this.errors = facts.errors;
    this.requestId = facts.requestId;
    this.retryAfter = facts.retryAfter;
  }
}

/** A batch of `insertMany` was refused. Lines are counted over all batches; those before it are stored. */
export class SvcBatchError extends SvcError {
  /** Rows of earlier batches, which stay. */
  readonly inserted: number;

  constructor(cause: SvcError, { inserted, linesBefore }: { inserted: number; linesBefore: number }) {
    const errors = cause.errors.map((item) =>
      item.line === undefined ? item : { ...item, line: item.line + linesBefore },
    );
    super({ ...factsOf(cause), errors, detail: lineText(errors[0]) ?? cause.detail }, { cause });
    this.name = 'SvcBatchError';
    this.inserted = inserted;
  }
}

/** The server counted the lines of the batch; its text would name another line than the list. */
function lineText(item: ProblemItem | undefined): string | null {
  if (item?.line === undefined) return null;
  return `line ${item.line}:${item.column === undefined ? '' : ` ${item.column}`} ${item.detail}`;
}

/** No answer, or not all of it: whether the request had its effect is not known. */
export class SvcNetworkError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SvcNetworkError';
  }
}

export function errorOf(response: { status: number; headers: Headers }, text: string): SvcError {
  const problem = problemIn(text);
  const shared = {
    status: response.status,
    requestId: problem?.request_id ?? response.headers.get('x-request-id'),
    retryAfter: retryAfterOf(response.headers),
  };
  if (problem) {
    const { code, detail, errors = [] } = problem;
    return new SvcError({ ...shared, code, detail, errors });
  }
  const detail = `The answer ${response.status} is not one of this service.`;
  return new SvcError({ ...shared, code: 'unexpected_answer', detail, errors: [] });
}

export function nobodySignedIn(): SvcError {
  const detail = 'Nobody is signed in.';
  return new SvcError({
    code: 'unauthenticated',
    status: 401,
    detail,
    errors: [],
    requestId: null,
    retryAfter: null,
  });
}

function factsOf({ code, status, detail, errors, requestId, retryAfter }: SvcError): SvcErrorFacts {
  return { code, status, detail, errors, requestId, retryAfter };
}

function problemIn(text: string): Problem | null {
  try {
    const body: unknown = JSON.parse(text);
    const isProblem = typeof body === 'object' && body !== null && 'code' in body && 'detail' in body;
    return isProblem ? (body as Problem) : null;
  } catch {
    return null;
  }
}

/** Seconds, or a date. */
function retryAfterOf(headers: Headers): number | null {
  const text = headers.get('retry-after');
  if (text === null) return null;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : null;
}
