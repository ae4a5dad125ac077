import { credentialTag } from '../identity/tags.ts';
import type { AuditedChange, MutationCtx } from '../plumbing/context.ts';
import { lockActivePatRowsNaming, markRevoked, saveApps } from './store.ts';

/**
 * For an app that goes for good. A token that named no other app is revoked: a list without an entry would mean every
 * app. What is to be audited is answered, for the one whose plan it is part of to tell in its own order.
 */
export async function takeAppFromPats(
  ctx: MutationCtx,
  { tenantId, appId }: { tenantId: string; appId: string },
): Promise<{ revoked: number; narrowed: number; changes: AuditedChange[] }> {
  const changes: AuditedChange[] = [];
  let revoked = 0;
  const rows = await lockActivePatRowsNaming(ctx.db, tenantId, appId, ctx.now);
  for (const row of rows) {
    const target = { kind: 'pat', id: row.id, name: row.name };
    const { user_id } = row;
    const left = row.apps.filter((id) => id !== appId);
    if (left.length === 0) {
      await markRevoked(ctx.db, tenantId, row.id, ctx.now);
      const [before, after] = [
        { status: 'active', user_id },
        { status: 'revoked', user_id },
      ];
      changes.push({ action: 'pats.revoke', target, before, after });
      revoked++;
    } else {
      await saveApps(ctx.db, tenantId, row.id, left);
      changes.push({ action: 'pats.narrow', target, before: { apps: row.apps }, after: { apps: left } });
    }
    ctx.changed(credentialTag(row.secret_hash));
  }
  return { revoked, narrowed: rows.length - revoked, changes };
}
