import { type ErrorCode, errorCodes } from '@svc/contract/error-codes.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { AdvisedProblem } from '../errors.ts';

export interface Refusal {
  detail: string;
  next: string;
  items?: readonly ProblemItem[];
}

const itemsShownMax = 20;

/** Found out on this side, before anything is sent, and told as the server tells it. */
export function refused(code: ErrorCode, { detail, next, items = [] }: Refusal): AdvisedProblem {
  const { status, means } = errorCodes[code];
  const problem = { type: 'about:blank', title: means, status, detail, code, request_id: '' };
  const errors = items.slice(0, itemsShownMax);
  return new AdvisedProblem(errors.length === 0 ? problem : { ...problem, errors }, next);
}

/** `3 files …; the first 20 are named.` */
export function named(count: number, one: string, many: string): string {
  if (count === 1) return `One ${one}.`;
  const first = count > itemsShownMax ? ` The first ${itemsShownMax} are named.` : '';
  return `${count} ${many}.${first}`;
}
