import { sql } from 'kysely';
import type { AppAccess, Ctx } from '../plumbing/context.ts';
import { isUuid } from '../plumbing/ref.ts';

export interface AppById {
  id: string;
  tenantId: string;
  slug: string;
  subdomain: string | null;
  name: string;
  ownerId: string;
  visibility: AppAccess['visibility'];
  record: AppAccess['record'];
  runtime: 'none' | 'running' | 'suspended';
}

/** For those who name an app by nothing but its id: as the client of a sign-in, or as what a token was issued to. */
export async function findAppById(ctx: Pick<Ctx, 'db'>, { id }: { id: string }): Promise<AppById | null> {
  if (!isUuid(id)) return null;
  const { rows } = await sql<AppById>`
    select id, tenant_id as "tenantId", slug, subdomain, name, owner_id as "ownerId", visibility, record, runtime
    from svc.apps where id = ${id} and record in ('active', 'archived')`.execute(ctx.db);
  return rows[0] ?? null;
}
