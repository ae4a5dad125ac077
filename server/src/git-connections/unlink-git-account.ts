import { revokeUserTokens } from '../git-host/revoke-user-tokens.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import type { GitParts } from './git-parts.ts';
import { deleteLinkRow, lockLinkRow } from './link-store.ts';

/** What another git host gave out, its own pages take back; what the built-in one did ends here. */
export async function unlinkGitAccount(
  ctx: TenantMutationCtx,
  { id }: { id: string },
  { gitHost }: Pick<GitParts, 'gitHost'>,
): Promise<undefined> {
  const who = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  const row = await lockLinkRow(ctx.db, who, id);
  if (!row) throw fail('not_found');
  await deleteLinkRow(ctx.db, who, row.id);
  if (gitHost.isBuiltIn && row.host === gitHost.webUrl) await revokeUserTokens(ctx.db, who);
  ctx.audit({
    action: 'gitHost.unlink',
    target: { kind: 'git_account', id: row.id, name: row.host },
    before: { host: row.host, login: row.login, linked_at: row.linked_at },
    after: null,
  });
}
