import type { AppCtx } from '../plumbing/context.ts';
import { type StorageRecord, storageRecord } from './rules.ts';
import { findStorageRow } from './store.ts';

export async function getStorage(ctx: AppCtx): Promise<StorageRecord> {
  return storageRecord(await findStorageRow(ctx.db, { tenantId: ctx.tenant.id, appId: ctx.app.id }));
}
