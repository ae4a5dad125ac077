import type { Connection } from '../git-connections/connection-of.ts';
import { ownsApp } from '../plumbing/is-enough.ts';
import type { Source } from './find-source.ts';

/**
 * Whether the code of an app may be copied by somebody who sees it: its owners, anyone where the repository is not
 * private, and, at a host outside, whose own account reads it there. Only that host knows the last: `by_account`.
 */
export function codeReach(
  { app }: Source,
  connection: Pick<Connection, 'isPrivate'> | null,
  { isBuiltIn }: { isBuiltIn: boolean },
): 'open' | 'closed' | 'by_account' {
  if (!connection) return 'closed';
  if (ownsApp(app.relation) || !connection.isPrivate) return 'open';
  return isBuiltIn ? 'closed' : 'by_account';
}
