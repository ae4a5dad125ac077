import type { EdgeAnswer, EdgeRequest } from '../../plumbing/edge-request.ts';
import { fail } from '../../plumbing/problem.ts';
import {
  overduePage,
  type PlainPage,
  pageAnswer,
  startingPage,
  unavailablePage,
  unreachablePage,
} from '../plain-page.ts';
import { problemOf } from '../who-asks.ts';

export type RefusalCode = 'app_starting' | 'app_unreachable' | 'app_timeout' | 'unavailable';

const pages: Readonly<Record<RefusalCode, PlainPage>> = {
  app_starting: startingPage,
  app_unreachable: unreachablePage,
  app_timeout: overduePage,
  unavailable: unavailablePage,
};

/** Instead of what the app would have answered: to people as a page, to programs as a problem. */
export function refusal(request: EdgeRequest, code: RefusalCode): EdgeAnswer {
  const wantsPage = request.header('accept')?.includes('text/html');
  return wantsPage ? pageAnswer(pages[code], request.method) : problemOf(request, fail(code));
}
