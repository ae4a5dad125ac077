import { ProblemError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { CliError } from './errors.ts';

/** What may be over in a moment, for who may ask the same again without a second thought. */
export function passes(cause: unknown): boolean {
  if (cause instanceof ProblemError)
    return cause.problem.status >= 500 || [408, 429].includes(cause.problem.status);
  if (cause instanceof UnexpectedAnswerError) return cause.status >= 502;
  return cause instanceof CliError && (cause.code === 'no_connection' || cause.code === 'timeout');
}
