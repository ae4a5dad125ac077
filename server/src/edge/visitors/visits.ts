import { CompiledQuery, sql } from 'kysely';
import { findAppById, findAppForSignIn, isReviewerOf } from '../../apps/record/find-app.ts';
import { type Ctx, ownsApp } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { notifySql } from '../../core/invalidation.ts';
import { findUser } from '../../people/users/users.ts';

interface CodeRow {
  code_hash: string;
  app_id: string;
  origin: string;
  user_id: string;
  credential_id: string;
  state_hash: string | null;
  created_at: Date;
  expires_at: Date;
}
type VisitRow = Omit<CodeRow, 'code_hash' | 'origin' | 'state_hash'> & {
  token_hash: string;
  host: string;
};
type Tables = { site_codes: CodeRow; site_visits: VisitRow };

export async function insertCodeRow(db: Db, row: CodeRow): Promise<void> {
  await db.withTables<Tables>().insertInto('site_codes').values(row).execute();
}

export function findCodeRow(db: Db, codeHash: string): Promise<CodeRow | undefined> {
  const codes = db.withTables<Tables>().selectFrom('site_codes').selectAll();
  return codes.where('code_hash', '=', codeHash).executeTakeFirst();
}

/** A code is consumed by the first use, even if that fails. */
export function consumeCodeRow(db: Db, codeHash: string): Promise<CodeRow | undefined> {
  const codes = db.withTables<Tables>().deleteFrom('site_codes');
  return codes.where('code_hash', '=', codeHash).returningAll().executeTakeFirst();
}

export async function insertVisitRow(db: Db, row: VisitRow): Promise<void> {
  await db.withTables<Tables>().insertInto('site_visits').values(row).execute();
}

export function findVisitRow(
  db: Db,
  appId: string,
  { tokenHash, host }: { tokenHash: string; host: string },
): Promise<VisitRow | undefined> {
  const visits = db.withTables<Tables>().selectFrom('site_visits').selectAll();
  return visits.where((e) => e.and({ token_hash: tokenHash, app_id: appId, host })).executeTakeFirst();
}

export async function deleteVisitRow(
  db: Db,
  { tokenHash, host, tag }: { tokenHash: string; host: string; tag: string },
): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    const { numAffectedRows } = await sql`
      delete from svc.site_visits where token_hash = ${tokenHash} and host = ${host}`.execute(tx);
    if (numAffectedRows === 0n) return false;
    await tx.executeQuery(CompiledQuery.raw(notifySql, [tag]));
    return true;
  });
}

export async function deleteExpiredVisits(db: Db): Promise<void> {
  await sql`delete from svc.site_codes where expires_at < now()`.execute(db);
  await sql`delete from svc.site_visits where expires_at < now()`.execute(db);
}

export interface Visit {
  appId: string;
  userId: string;
  hostKind: 'app' | 'staging' | 'domain';
}

/** An app that does not exist takes the same lookups, so that the time does not reveal it. */
export async function canVisit(ctx: Pick<Ctx, 'db'>, visit: Visit): Promise<boolean> {
  const seen = await findAppForSignIn(ctx, visit);
  if (visit.hostKind === 'staging')
    return (seen !== null && ownsApp(seen.relation)) || isReviewerOf(ctx, visit);
  if (seen !== null) return true;
  return isOpenToAll(ctx, visit);
}

/** People outside the tenant see an app only while it runs and is open to the internet. */
async function isOpenToAll(ctx: Pick<Ctx, 'db'>, { appId, userId }: Visit): Promise<boolean> {
  const app = await findAppById(ctx, { id: appId });
  if (app?.visibility !== 'internet' || app.record !== 'active' || app.runtime !== 'running') return false;
  return (await findUser(ctx, { ref: userId }))?.status === 'active';
}

export function isCodeValid(code: CodeRow, { origin, now }: { origin: string; now: Date }): boolean {
  return code.expires_at > now && code.origin === origin;
}
