import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { deleteLinkRow, lockLinkRow } from './link-store.ts';

/** Only here: what the git host knows of the app, its own pages take back. */
export async function unlinkGitAccount(ctx: TenantMutationCtx, { id }: { id: string }): Promise<undefined> {
  const who = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  const row = await lockLinkRow(ctx.db, who, id);
  if (!row) throw fail('not_found');
  await deleteLinkRow(ctx.db, who, row.id);
  ctx.audit({
    action: 'gitHost.unlink',
    target: { kind: 'git_account', id: row.id, name: row.host },
    before: { host: row.host, login: row.login, linked_at: row.linked_at },
    after: null,
  });
}
