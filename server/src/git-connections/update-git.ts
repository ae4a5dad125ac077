import { holdApp } from '../apps/hold-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { archived } from './archived.ts';
import { lockConnectionRow, saveConnectionRow } from './connection-store.ts';
import { type ConnectionRecord, connectionRecord } from './rules.ts';

/** The next push there deploys; what is live stays. */
export async function updateGit(
  ctx: AppMutationCtx,
  { branch }: { branch: string },
): Promise<ConnectionRecord & { changed?: false }> {
  const app = await holdApp(ctx, { wanted: 'owners' });
  const place = { tenantId: ctx.tenant.id, appId: app.id };
  if (app.record !== 'active') throw archived();
  const row = await lockConnectionRow(ctx.db, place);
  if (!row) throw fail('not_connected');
  ctx.audit({
    action: 'git.update',
    appId: app.id,
    target: { kind: 'git_connection', id: app.id, name: app.slug },
    before: { branch: row.branch },
    after: { branch },
  });
  if (row.branch === branch) return { ...connectionRecord(row), changed: false };
  await saveConnectionRow(ctx.db, place, { branch });
  return connectionRecord({ ...row, branch });
}
