import { sql } from 'kysely';
import type { AppAccess, Ctx } from '../plumbing/context.ts';
import { isUuid } from '../plumbing/ref.ts';

export interface AppById {
  id: string;
  tenantId: string;
  slug: string;
  name: string;
  ownerId: string;
  visibility: AppAccess['visibility'];
  record: AppAccess['record'];
}

/** For those who name an app by nothing but its id: as the client of a sign-in, or as what a token was issued to. */
export async function findAppById(ctx: Pick<Ctx, 'db'>, { id }: { id: string }): Promise<AppById | null> {
  if (!isUuid(id)) return null;
  const { rows } = await sql<AppById>`
    select id, tenant_id as "tenantId", slug, name, owner_id as "ownerId", visibility, record
    from svc.apps where id = ${id} and record in ('active', 'archived')`.execute(ctx.db);
  return rows[0] ?? null;
}

/**
 * Slugs are unique within a tenant, hosts are not divided by tenants: the first app of a slug answers at its host. A
 * deleted one keeps the host, so that what people still have of it never leads to somebody else's pages.
 */
export async function holdsHost(ctx: Pick<Ctx, 'db'>, app: Pick<AppById, 'id' | 'slug'>): Promise<boolean> {
  const { rows } = await sql<{ id: string }>`
    select id from svc.apps where slug = ${app.slug} order by created_at, id limit 1`.execute(ctx.db);
  return rows[0]?.id === app.id;
}
