import type { StorageObject, getStorage as storageShape } from '@svc/contract/storage.shapes.ts';
import { storageBytesMax } from '@svc/contract/storage.ts';
import type { z } from 'zod';
import { recheckApp } from '../../apps/record/app-access.ts';
import {
  type AppAccess,
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  appRef,
  type MutationCtx,
  type TenantMutationCtx,
} from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { type Failure, fail } from '../../core/problem.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import {
  deleteObjectRowsBatch,
  deleteStorageRow,
  findStorageRow,
  insertStorageRow,
  isBlobUsed,
  lockStorageRow,
  type ObjectRow,
  type StorageRow,
} from './store.ts';

type StorageRecord = z.output<typeof storageShape.answer>;

export const blobPrefix = ({ tenantId, appId }: AppRef) => `storage/${tenantId}/${appId}/`;
/** Ids only: object names never become names in the store. */
export const blobKey = (app: AppRef, blobId: string) => `${blobPrefix(app)}${blobId}`;

export function objectRecord(row: ObjectRow): z.output<typeof StorageObject> {
  return {
    key: row.key,
    size: row.size,
    content_type: row.content_type,
    sha256: row.sha256,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function storageRecord(row: StorageRow | undefined): StorageRecord {
  return {
    enabled: row !== undefined,
    enabled_at: row?.enabled_at.toISOString() ?? null,
    objects: row?.objects ?? 0,
    bytes: row?.bytes ?? 0,
    bytes_max: storageBytesMax,
  };
}

export function objectAudit(row: Pick<ObjectRow, 'size' | 'content_type' | 'sha256'>) {
  return { size: row.size, content_type: row.content_type, sha256: row.sha256 };
}

export function requireNotArchived({ record }: Pick<AppAccess, 'record'>): void {
  if (record === 'archived')
    throw fail('app_not_active', { detail: 'The app is archived; its objects are read-only.' });
}

export function bytesLeft(storage: StorageRow, replaced: ObjectRow | undefined): number {
  return Math.max(0, storageBytesMax - storage.bytes + (replaced?.size ?? 0));
}

export function requireSpace(size: number, left: number): void {
  if (size > left) throw storageFullError();
}

export function storageFullError(): Failure {
  return fail('limit_reached', { detail: `The storage limit of an app is ${storageBytesMax} bytes.` });
}

export function fileName(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

export async function getStorage(ctx: AppCtx): Promise<StorageRecord> {
  return storageRecord(await findStorageRow(ctx.db, appRef(ctx)));
}

export async function enableStorage(ctx: AppMutationCtx) {
  requireNotArchived(await recheckApp(ctx, { required: 'owners' }));
  return enableStorageForApp(ctx, ctx.app);
}

export async function enableStorageForApp(ctx: TenantMutationCtx, app: { id: string; slug: string }) {
  const inserted = await insertStorageRow(ctx.db, {
    app_id: app.id,
    tenant_id: ctx.tenant.id,
    enabled_by: ctx.caller.userId,
    enabled_at: ctx.now,
  });
  ctx.audit({
    action: 'storage.enable',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: { storage_enabled: inserted === undefined },
    after: { storage_enabled: true },
  });
  if (inserted) return storageRecord(inserted);
  const row = await findStorageRow(ctx.db, appRef({ tenant: ctx.tenant, app }));
  return { ...storageRecord(row), changed: false as const };
}

export async function requireStorage(db: Db, app: AppRef): Promise<StorageRow> {
  const storage = await findStorageRow(db, app);
  if (!storage) throw fail('storage_not_enabled');
  return storage;
}

/** Every change of an app's objects starts here: one change at a time, so that the usage counters are exact. */
export async function lockStorageForChange(ctx: AppMutationCtx): Promise<StorageRow> {
  const storage = await lockStorageRow(ctx.db, appRef(ctx));
  requireNotArchived(await recheckApp(ctx, { required: 'owners' }));
  if (!storage) throw fail('storage_not_enabled');
  return storage;
}

export async function lockStorageForFile(ctx: AppMutationCtx): Promise<StorageRow> {
  const storage = await lockStorageRow(ctx.db, appRef(ctx));
  requireNotArchived(ctx.app);
  if (!storage) throw fail('storage_not_enabled');
  return storage;
}

export async function isStorageEnabled(db: Db, app: AppRef): Promise<boolean> {
  return (await findStorageRow(db, app)) !== undefined;
}

export async function purgeStorage(
  ctx: Pick<MutationCtx, 'db' | 'enqueue'>,
  { tenantId, appId }: AppRef,
): Promise<{ objects: number; bytes: number }> {
  // Only these two fields: the effect's payload is stored.
  const app = { tenantId, appId };
  const storage = await lockStorageRow(ctx.db, app);
  if (!storage) return { objects: 0, bytes: 0 };
  await deleteStorageRow(ctx.db, app);
  ctx.enqueue('storage.discardApp', { ...app });
  return { objects: storage.objects, bytes: storage.bytes };
}

export function deleteAppObjects({ db, objects }: { db: Db; objects: ObjectStore }): EffectHandler {
  return async (payload) => {
    const app = payload as unknown as AppRef;
    while (await deleteObjectRowsBatch(db, app)) {}
    for await (const { key } of objects.list(blobPrefix(app))) await objects.delete(key);
  };
}

export function enqueueBlobDeletion(ctx: Pick<MutationCtx, 'enqueue'>, app: AppRef, blobId: string): void {
  ctx.enqueue('storage.discardBlob', { ...app, blobId });
}

/** Keeps a blob that a copy still uses. An unused blob stays unused: only an object that has it can be copied. */
export function deleteUnusedBlob({ db, objects }: { db: Db; objects: ObjectStore }): EffectHandler {
  return async (payload) => {
    const { blobId, ...app } = payload as unknown as AppRef & { blobId: string };
    if (!(await isBlobUsed(db, app, blobId))) await objects.delete(blobKey(app, blobId));
  };
}
