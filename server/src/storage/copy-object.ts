import { confirmApp } from '../apps/confirm-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { placeObject } from './place-object.ts';
import { notEnabled, objectRecord, refuseArchived } from './rules.ts';
import { findObjectRow, lockStorageRow } from './store.ts';

/** Both have the same bytes in the store, so it takes no time however large it is. */
export async function copyObject(ctx: AppMutationCtx, { from, to }: { from: string; to: string }) {
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  const storage = await lockStorageRow(ctx.db, place);
  refuseArchived(await confirmApp(ctx, { wanted: 'owners' }));
  if (!storage) throw notEnabled();
  const source = await findObjectRow(ctx.db, place, from);
  if (!source) throw fail('not_found', { detail: `There is no object ${from}.` });
  const { row, isChanged } = await placeObject(ctx, storage, { ...source, key: to, action: 'storage.copy' });
  return { ...objectRecord(row), ...(isChanged ? {} : { changed: false as const }) };
}
