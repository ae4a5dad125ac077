import { ProblemError } from '@svc/contract/client.ts';
import { getMe } from '@svc/contract/identity.ts';
import { QueryCache, QueryClient } from '@tanstack/react-query';

const freshMs = 5_000;
const triesMax = 2;

/** What was asked, kept for as long as a page needs it. An answer of the service is final; only silence is asked again. */
export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noteSignedOut }),
  defaultOptions: {
    queries: {
      staleTime: freshMs,
      retry: (failures, error) => !(error instanceof ProblemError) && failures < triesMax,
    },
  },
});

export const meKey = [getMe.id, {}];

/** Where the session has ended, whoever looks at the page is asked to sign in; what is asked without a query says it here. */
export function noteSignedOut(error: unknown): void {
  if (isCode(error, 'unauthenticated')) queryClient.setQueryData(meKey, null);
}

export function isCode(error: unknown, code: ProblemError['problem']['code']): boolean {
  return error instanceof ProblemError && error.problem.code === code;
}
