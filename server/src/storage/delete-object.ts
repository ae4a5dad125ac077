import { confirmApp } from '../apps/confirm-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { discardBlob } from './discard-blob.ts';
import { auditedObject, notEnabled, refuseArchived } from './rules.ts';
import { countChange, deleteObjectRow, findObjectRow, lockStorageRow } from './store.ts';

export async function deleteObject(ctx: AppMutationCtx, { key }: { key: string }): Promise<undefined> {
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  const storage = await lockStorageRow(ctx.db, place);
  refuseArchived(await confirmApp(ctx, { wanted: 'owners' }));
  if (!storage) throw notEnabled();
  const row = await findObjectRow(ctx.db, place, key);
  if (!row) throw fail('not_found');
  await deleteObjectRow(ctx.db, place, key);
  await countChange(ctx.db, place, { objects: -1, bytes: -row.size });
  discardBlob(ctx, place, row.blob_id);
  ctx.audit({
    action: 'storage.delete',
    appId: ctx.app.id,
    target: { kind: 'object', id: key, name: key },
    before: auditedObject(row),
    after: null,
  });
}
