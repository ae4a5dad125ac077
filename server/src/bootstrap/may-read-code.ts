import { asGitUser } from '../git-connections/as-git-user.ts';
import { connectionOf } from '../git-connections/connection-of.ts';
import type { Caller } from '../plumbing/context.ts';
import { ownsApp } from '../plumbing/is-enough.ts';
import { Failure } from '../plumbing/problem.ts';
import type { BootstrapParts } from './bootstrap-parts.ts';
import type { Source } from './find-source.ts';

/**
 * Whether the code of an app may be copied by somebody who sees it: its owners, anyone where the repository is not
 * private, and, at a host outside, whose own account reads it there.
 */
export async function mayReadCode(
  parts: BootstrapParts,
  { tenant, app }: Source,
  { caller, tenantId }: { caller: Pick<Caller, 'userId'>; tenantId: string },
): Promise<boolean> {
  const connection = await connectionOf(parts.db, { tenantId: tenant.id, appId: app.id });
  if (!connection) return false;
  if (ownsApp(app.relation) || !connection.isPrivate) return true;
  if (parts.gitHost.isBuiltIn) return false;
  try {
    const who = { tenantId, userId: caller.userId };
    return (await asGitUser(parts, who, (user) => user.repository(connection.repo))) !== null;
  } catch (error) {
    // Without an account there they read nothing there.
    if (error instanceof Failure && error.code === 'git_account_required') return false;
    throw error;
  }
}
