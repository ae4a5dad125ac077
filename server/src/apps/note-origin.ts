import { sql } from 'kysely';
import type { MutationCtx } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';

export interface AppOrigin {
  templateId: string | null;
  forkedFromId: string | null;
}

/** For who has just made the app: what it was made from. */
export async function noteOrigin(
  ctx: Pick<MutationCtx, 'db'>,
  { tenantId, appId, origin }: { tenantId: string; appId: string; origin: AppOrigin },
): Promise<void> {
  await sql`
    update svc.apps set template_id = ${origin.templateId}, forked_from_id = ${origin.forkedFromId}
    where tenant_id = ${tenantId} and id = ${appId}`.execute(ctx.db);
}

export async function originOf(
  db: Db,
  { tenantId, appId }: { tenantId: string; appId: string },
): Promise<AppOrigin> {
  const { rows } = await sql<AppOrigin>`
    select template_id as "templateId", forked_from_id as "forkedFromId"
    from svc.apps where tenant_id = ${tenantId} and id = ${appId}`.execute(db);
  return rows[0] ?? { templateId: null, forkedFromId: null };
}
