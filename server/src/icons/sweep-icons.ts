import { iconUnusedHours } from '@svc/contract/icons.ts';
import { iconIdsInUse } from '../apps/icon-ids-in-use.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { asOperator, type OperatorParts } from '../plumbing/operator.ts';
import { isUuid } from '../plumbing/ref.ts';
import { removeObjects } from './remove-objects.ts';
import { iconKey } from './rules.ts';
import { deleteIconRows, listIconRowsToSweep, listKnownIcons, listTenantsWithIcons } from './store.ts';

const unusedMs = iconUnusedHours * 3_600_000;
const objectsAtOnce = 500;

/** Icons that no app refers to: replaced ones, and those whose app was never made. */
export async function sweepIcons(parts: OperatorParts): Promise<void> {
  for (const tenantId of await listTenantsWithIcons(parts.db)) {
    const change = { name: 'icons.sweep', auditTenantId: tenantId };
    // One tenant's trouble is not the others'.
    await asOperator(parts, change, (ctx) => sweepIconsOf(ctx, { tenantId })).catch((error: unknown) =>
      parts.log.error({ err: error, tenant: tenantId }, 'could not sweep icons'),
    );
  }
}

export async function sweepIconsOf(
  ctx: MutationCtx,
  { tenantId }: { tenantId: string },
): Promise<{ icons: number }> {
  const before = new Date(ctx.now.getTime() - unusedMs);
  // First the icons, then who refers to them: one that is set in between is not seen as unused.
  const icons = await listIconRowsToSweep(ctx.db, tenantId, before);
  const used = await iconIdsInUse(ctx.db, tenantId);
  const unused = icons.filter(({ id }) => !used.has(id));
  await deleteIconRows(
    ctx.db,
    tenantId,
    unused.map(({ id }) => id),
  );
  removeObjects(ctx, unused);
  return { icons: unused.length };
}

/** Bytes that were stored and never became an icon, or whose tenant is gone. */
export async function sweepIconObjects({
  db,
  objects,
  now,
}: {
  db: Db;
  objects: ObjectStore;
  now: Date;
}): Promise<void> {
  const before = now.getTime() - unusedMs;
  let keys: string[] = [];
  for await (const { key, modifiedAt } of objects.list('icons/')) {
    if (modifiedAt.getTime() >= before) continue;
    keys.push(key);
    if (keys.length < objectsAtOnce) continue;
    await removeUnknown({ db, objects, keys });
    keys = [];
  }
  await removeUnknown({ db, objects, keys });
}

async function removeUnknown({
  db,
  objects,
  keys,
}: {
  db: Db;
  objects: ObjectStore;
  keys: readonly string[];
}) {
  const ids = keys.map((key) => key.split('/')[1] ?? '').filter(isUuid);
  const known = new Set((await listKnownIcons(db, ids)).map(iconKey));
  for (const key of keys) if (!known.has(key)) await objects.delete(key);
}
