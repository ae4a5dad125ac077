import { sql } from 'kysely';
import type { Ctx } from '../plumbing/context.ts';

/** The id of the app that has the subdomain now, for those who name an app by its host alone. */
export async function findAppBySubdomain(
  ctx: Pick<Ctx, 'db'>,
  { subdomain }: { subdomain: string },
): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    select id from svc.apps where subdomain = ${subdomain} and record in ('active', 'archived')`.execute(
    ctx.db,
  );
  return rows[0]?.id ?? null;
}
