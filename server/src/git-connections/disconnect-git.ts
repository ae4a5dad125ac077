import { holdApp } from '../apps/hold-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { deleteConnectionRow, lockConnectionRow } from './connection-store.ts';
import { hookToRemove, removeHookTopic } from './remove-hook.ts';

export async function disconnectGit(
  ctx: AppMutationCtx,
): Promise<{ connected: false; repo: string | null; changed?: false }> {
  const app = await holdApp(ctx, { wanted: 'owners' });
  const place = { tenantId: ctx.tenant.id, appId: app.id };
  const target = { kind: 'git_connection', id: app.id, name: app.slug };
  const row = await lockConnectionRow(ctx.db, place);
  if (!row) {
    ctx.audit({ action: 'git.disconnect', appId: app.id, target, before: {}, after: {} });
    return { connected: false, repo: null, changed: false };
  }
  await deleteConnectionRow(ctx.db, place);
  ctx.audit({
    ...{ action: 'git.disconnect', appId: app.id, target, after: null },
    before: { repo: row.repo, branch: row.branch, installation_id: row.installation_id },
  });
  ctx.enqueue(removeHookTopic, hookToRemove(row));
  return { connected: false, repo: row.repo };
}
