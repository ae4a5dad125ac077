import type { Answer, Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { client } from './client.ts';

export interface AskOptions<A = unknown> {
  /** Not asked while false. */
  enabled?: boolean;
  /** Asked again that often while the page is looked at; where that hangs on what was answered last, by a function. */
  everyMs?: number | false | ((last: A | undefined) => number | false);
}

/**
 * The answer of an endpoint. While another page or filter of the same thing is asked for, the last answer stays, so that
 * nothing jumps; what was said of another thing never does.
 */
export function useAnswer<S extends Shape>(
  endpoint: Endpoint<S>,
  input: Input<S>,
  { enabled = true, everyMs = false }: AskOptions<Answer<S>> = {},
): UseQueryResult<Answer<S>> {
  return useQuery({
    queryKey: [endpoint.id, input],
    queryFn: ({ signal }) => client.call(endpoint, input, { signal }),
    enabled,
    refetchInterval:
      typeof everyMs === 'function' ? ({ state }) => everyMs(state.data as Answer<S> | undefined) : everyMs,
    placeholderData: (last, before) =>
      isOfTheSame(before?.queryKey[1] as Asked | undefined, input) ? (last as never) : undefined,
  }) as UseQueryResult<Answer<S>>;
}

interface Asked {
  params?: unknown;
  body?: unknown;
}

function isOfTheSame(before: Asked | undefined, now: Asked): boolean {
  if (before === undefined) return false;
  return JSON.stringify([before.params, before.body]) === JSON.stringify([now.params, now.body]);
}
