import { GitFailure } from '../drivers/git-client/git-client.ts';
import { RepositoryRefused } from '../drivers/git-host/git-host.ts';
import { Failure } from '../plumbing/problem.ts';
import { type Judged, judge } from './rules.ts';
import { StepRefused } from './step-refused.ts';

/** What an error on the way means for the run. The texts of faults stay in the log. */
export function judgeError(error: unknown): Judged {
  if (error instanceof StepRefused) return { code: error.code, isPassing: false, detail: error.message };
  if (error instanceof Failure) return judge(error.code, error.detail ?? error.message);
  if (error instanceof RepositoryRefused) return judge(error.reason, error.message);
  if (error instanceof GitFailure)
    return judge(error.reason === 'unreachable' ? 'unreachable' : 'push_rejected', error.message);
  return judge(null, 'A fault of the server.');
}
