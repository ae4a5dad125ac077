import { ProblemError } from '@svc/contract/client.ts';
import type { Endpoint, Input, Shape } from '@svc/contract/endpoint.ts';
import { useQuery } from '@tanstack/react-query';
import { client } from './client.ts';

/** What the server would say no with (with `code`: for that reason alone), asked by a dry run: for rules that no table of the contract tells. */
export function useRefusal<S extends Shape>(
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
