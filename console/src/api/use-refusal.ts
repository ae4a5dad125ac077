import { ProblemError } from '@svc/contract/client.ts';
import type { Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import { useQuery } from '@tanstack/react-query';
import { client } from './client.ts';

/** What the server would say no with, asked by a dry run: for rules that no table of the contract tells. */
export function useRefusal<S extends Shape>(
  endpoint: Endpoint<S>,
  input: Input<S>,
  { enabled }: { enabled: boolean },
): string | null {
  const { data } = useQuery({
    queryKey: ['refusal', endpoint.id, input],
    queryFn: async ({ signal }) => {
      try {
        await client.preview(endpoint, input, { signal });
        return null;
      } catch (error) {
        if (error instanceof ProblemError && error.problem.status < 500) return error.problem.detail;
        throw error;
      }
    },
    enabled,
  });
  return data ?? null;
}
