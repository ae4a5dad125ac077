import { confirmApp } from '../apps/confirm-app.ts';
import type { AppMutationCtx, TenantMutationCtx } from '../plumbing/context.ts';
import { refuseArchived, storageRecord } from './rules.ts';
import { findStorageRow, insertStorageRow } from './store.ts';

export async function enableStorage(ctx: AppMutationCtx) {
  refuseArchived(await confirmApp(ctx, { wanted: 'owners' }));
  return enableStorageOf(ctx, ctx.app);
}

/** For an app that is known to be the caller's, such as a new one. A repeat changes nothing. */
export async function enableStorageOf(ctx: TenantMutationCtx, app: { id: string; slug: string }) {
  const made = await insertStorageRow(ctx.db, {
    app_id: app.id,
    tenant_id: ctx.tenant.id,
    enabled_by: ctx.caller.userId,
    enabled_at: ctx.now,
  });
  ctx.audit({
    action: 'storage.enable',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: { storage_enabled: made === undefined },
    after: { storage_enabled: true },
  });
  if (made) return storageRecord(made);
  const row = await findStorageRow(ctx.db, { tenantId: ctx.tenant.id, appId: app.id });
  return { ...storageRecord(row), changed: false as const };
}
