import { ProblemError } from '@svc/contract/client.ts';
import { type ErrorCode, errorCodes } from '@svc/contract/error-codes.ts';
import type { Problem, ProblemItem } from '@svc/contract/problem.ts';

export class AdvisedProblemError extends ProblemError {
  constructor(
    problem: Problem,
    readonly next: string,
  ) {
    super(problem, null);
  }
}

export class WorkFailedError extends Error {
  constructor(
    readonly code: string,
    detail: string,
    readonly next: string,
  ) {
    super(detail);
  }
}

const itemsShownMax = 20;

export function rejectionError(
  code: ErrorCode,
  { detail, next, items = [] }: { detail: string; next: string; items?: readonly ProblemItem[] },
): AdvisedProblemError {
  const { status, means } = errorCodes[code];
  const problem = { type: 'about:blank', title: means, status, detail, code, request_id: '' };
  const errors = items.slice(0, itemsShownMax);
  return new AdvisedProblemError(errors.length === 0 ? problem : { ...problem, errors }, next);
}

export function planStaleError(): ProblemError {
  const detail = 'The plan has changed since the preview.';
  const problem = { type: 'about:blank', title: 'Stale plan', status: 409, detail, request_id: '' };
  return new ProblemError({ ...problem, code: 'plan_stale' }, null);
}

export function countText(count: number, one: string, many: string): string {
  if (count === 1) return `One ${one}.`;
  const first = count > itemsShownMax ? ` The first ${itemsShownMax} are listed.` : '';
  return `${count} ${many}.${first}`;
}
