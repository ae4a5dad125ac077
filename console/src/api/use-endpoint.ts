import { ProblemError } from '@svc/contract/client.ts';
import type { Answer, Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { client } from './client.ts';

interface EndpointOptions<A = unknown> {
  enabled?: boolean;
  refetchMs?: number | false | ((last: A | undefined) => number | false);
}

/**
 * Keeps the last response visible while another page or filter of the same resource loads, never that of another
 * resource.
 */
export function useEndpoint<S extends Shape>(
  endpoint: Endpoint<S>,
  input: Input<S>,
  { enabled = true, refetchMs = false }: EndpointOptions<Answer<S>> = {},
): UseQueryResult<Answer<S>> {
  return useQuery({
    queryKey: [endpoint.id, input],
    queryFn: ({ signal }) => client.call(endpoint, input, { signal }),
    enabled,
    refetchInterval:
      typeof refetchMs === 'function'
        ? ({ state }) => refetchMs(state.data as Answer<S> | undefined)
        : refetchMs,
    placeholderData: (last, before) =>
      isSameResource(before?.queryKey[1] as EndpointInput | undefined, input) ? (last as never) : undefined,
  }) as UseQueryResult<Answer<S>>;
}

interface EndpointInput {
  params?: unknown;
  body?: unknown;
}

function isSameResource(before: EndpointInput | undefined, now: EndpointInput): boolean {
  if (before === undefined) return false;
  return JSON.stringify([before.params, before.body]) === JSON.stringify([now.params, now.body]);
}

export function usePreviewError<S extends Shape>(
  endpoint: Endpoint<S>,
  input: Input<S>,
  { enabled, code }: { enabled: boolean; code?: ProblemError['problem']['code'] },
): string | null {
  const { data } = useQuery({
    queryKey: ['refusal', endpoint.id, input],
    queryFn: async ({ signal }) => {
      try {
        await client.preview(endpoint, input, { signal });
        return null;
      } catch (error) {
        if (!(error instanceof ProblemError) || error.problem.status >= 500) throw error;
        return code === undefined || error.problem.code === code ? error.problem.detail : null;
      }
    },
    enabled,
  });
  return data ?? null;
}
