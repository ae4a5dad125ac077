import { resourceTiers } from '@svc/contract/limits.ts';
import type { Db } from '../plumbing/db.ts';
import { isWithinTier, type ResourceTier } from './rules.ts';

type Tables = { apps: { id: string; tenant_id: string; resource_preset: ResourceTier; record: string } };

/** Deleted ones too: as long as they can come back, they come back with the tier they had. */
export async function countAppsAboveTier(
  db: Db,
  tenantId: string,
  { tier }: { tier: ResourceTier },
): Promise<number> {
  const above = resourceTiers.filter((other) => !isWithinTier(other, tier));
  if (above.length === 0) return 0;
  const { total } = await db
    .withTables<Tables>()
    .selectFrom('apps')
    .where('tenant_id', '=', tenantId)
    .where('record', '<>', 'purged')
    .where('resource_preset', 'in', above)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return total;
}
