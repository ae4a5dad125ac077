import type { MutationCtx } from '../plumbing/context.ts';
import { discardBlob } from './discard-blob.ts';
import { auditedObject, bytesLeft, refuseTooMuch } from './rules.ts';
import { countChange, findObjectRow, type ObjectRow, putObjectRow, type StorageRow } from './store.ts';

type Placed = Pick<ObjectRow, 'key' | 'blob_id' | 'size' | 'content_type' | 'sha256'> & { action: string };

/** Bytes that are in the store become the object under a key, under the lock of the app's storage. */
export async function placeObject(
  ctx: MutationCtx,
  storage: StorageRow,
  { key, blob_id, size, content_type, sha256, action }: Placed,
): Promise<{ row: ObjectRow; isChanged: boolean }> {
  const place = { tenantId: storage.tenant_id, appId: storage.app_id };
  const replaced = await findObjectRow(ctx.db, place, key);
  const isChanged = replaced?.blob_id !== blob_id || replaced.content_type !== content_type;
  ctx.audit({
    action,
    appId: place.appId,
    target: { kind: 'object', id: key, name: key },
    before: replaced ? auditedObject(replaced) : null,
    after: auditedObject({ size, content_type, sha256 }),
  });
  if (replaced && !isChanged) return { row: replaced, isChanged };
  refuseTooMuch(size, bytesLeft(storage, replaced));
  const row = await putObjectRow(ctx.db, {
    app_id: place.appId,
    key,
    tenant_id: place.tenantId,
    blob_id,
    size,
    content_type,
    sha256,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
    updated_at: ctx.now,
  });
  await countChange(ctx.db, place, { objects: replaced ? 0 : 1, bytes: size - (replaced?.size ?? 0) });
  if (replaced && replaced.blob_id !== blob_id) discardBlob(ctx, place, replaced.blob_id);
  return { row, isChanged };
}
