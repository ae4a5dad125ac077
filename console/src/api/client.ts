import { createClient, ProblemError } from '@svc/contract/client.ts';
import { getMe } from '@svc/contract/identity.ts';
import { QueryCache, QueryClient } from '@tanstack/react-query';

const staleMs = 5_000;
const retriesMax = 2;

/** A response of the service is final; only requests without a response are retried. */
export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: handleSignedOut }),
  defaultOptions: {
    queries: {
      staleTime: staleMs,
      retry: (failures, error) => !(error instanceof ProblemError) && failures < retriesMax,
    },
  },
});

export const meKey = [getMe.id, {}];

export function handleSignedOut(error: unknown): void {
  if (isCode(error, 'unauthenticated')) queryClient.setQueryData(meKey, null);
}

export function isCode(error: unknown, code: ProblemError['problem']['code']): boolean {
  return error instanceof ProblemError && error.problem.code === code;
}

/** An id that no resource can have is refused as invalid. */
export function isMissing(error: unknown): boolean {
  return isCode(error, 'not_found') || isCode(error, 'validation_failed');
}

export const client = createClient({
  baseUrl: '',
  fetch: async (url, init) => {
    const response = await fetch(url, init);
    // Mutations do not pass the query cache, so an ended session is noticed here too.
    if (response.status === 401) queryClient.setQueryData(meKey, null);
    return response;
  },
});

const randomKeyBytes = 16;

/** `crypto.randomUUID` exists only over https and on localhost. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(randomKeyBytes)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
