import { iconUnusedHours } from '@svc/contract/icons.ts';
import type { MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import { isUuid } from '../../core/values.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import { listCategoryIconIds } from '../categories/categories.ts';
import { listIconIdsInUse } from '../record/app-status.ts';
import { removeObjects } from './icons.ts';
import { iconKey } from './rules.ts';
import { deleteIconRows, listKnownIcons, listTenantsWithIcons, listUnusedCandidates } from './store.ts';

const unusedMs = iconUnusedHours * 3_600_000;
const objectsBatchMax = 500;

export async function deleteUnusedIcons(deps: OperatorDeps): Promise<void> {
  for (const tenantId of await listTenantsWithIcons(deps.db)) {
    const change = { name: 'icons.sweep', auditTenantId: tenantId };
    // One tenant's failure does not stop the others.
    await runAsOperator(deps, change, (ctx) => deleteUnusedTenantIcons(ctx, { tenantId })).catch(
      (error: unknown) => deps.log.error({ err: error, tenant: tenantId }, 'icon cleanup failed'),
    );
  }
}

export async function deleteUnusedTenantIcons(
  ctx: MutationCtx,
  { tenantId }: { tenantId: string },
): Promise<{ icons: number }> {
  const before = new Date(ctx.now.getTime() - unusedMs);
  // Icons before references: an icon that is set in between is not seen as unused.
  const icons = await listUnusedCandidates(ctx.db, tenantId, before);
  const used = await listIconIdsInUse(ctx.db, tenantId);
  const ofCategories = new Set(await listCategoryIconIds(ctx.db, tenantId));
  const unused = icons.filter(({ id }) => !used.has(id) && !ofCategories.has(id));
  await deleteIconRows(
    ctx.db,
    tenantId,
    unused.map(({ id }) => id),
  );
  removeObjects(ctx, unused);
  return { icons: unused.length };
}

/** Deletes objects that never became an icon, or whose tenant was deleted. */
export async function deleteOrphanedIconObjects(deps: {
  db: Db;
  objects: ObjectStore;
  now: Date;
}): Promise<void> {
  const { db, objects, now } = deps;
  const before = now.getTime() - unusedMs;
  let keys: string[] = [];
  for await (const { key, modifiedAt } of objects.list('icons/')) {
    if (modifiedAt.getTime() >= before) continue;
    keys.push(key);
    if (keys.length < objectsBatchMax) continue;
    await deleteUnknownObjects(db, objects, keys);
    keys = [];
  }
  await deleteUnknownObjects(db, objects, keys);
}

async function deleteUnknownObjects(db: Db, objects: ObjectStore, keys: readonly string[]) {
  const ids = keys.map((key) => key.split('/')[1] ?? '').filter(isUuid);
  const known = new Set((await listKnownIcons(db, ids)).map(iconKey));
  for (const key of keys) if (!known.has(key)) await objects.delete(key);
}
