import type { Db } from '../plumbing/db.ts';

type Tables = { apps: { id: string; tenant_id: string; category_id: string | null } };

/** Deleted ones too: as long as they can come back, they come back to it. */
export async function countAppsInCategory(
  db: Db,
  tenantId: string,
  { categoryId }: { categoryId: string },
): Promise<number> {
  const { total } = await db
    .withTables<Tables>()
    .selectFrom('apps')
    .where('tenant_id', '=', tenantId)
    .where('category_id', '=', categoryId)
    .select((e) => e.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return total;
}
