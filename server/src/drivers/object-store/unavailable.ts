import { type Failure, fail } from '../../plumbing/problem.ts';

/** Whatever ails the store, a full disk or a silent server: the caller may try again, the log says what it was. */
export function unavailable(cause: unknown): Failure {
  return fail('unavailable', { detail: 'The object store can not be used just now; try again.' }, { cause });
}
