import { ProblemError } from '@svc/contract/client.ts';
import { AdvisedProblem } from '../errors.ts';

/** Of a question about a code: whatever the command is about otherwise, it is the code that is not there. */
export function unknownCode(cause: unknown): unknown {
  if (!(cause instanceof ProblemError) || cause.problem.code !== 'not_found') return cause;
  const next =
    'svc git-host accounts list shows whether it was linked before; without --device-code and --resume-last there is a new code.';
  return new AdvisedProblem(cause.problem, next);
}
