import { CompiledQuery, sql } from 'kysely';
import type { Db } from '../../core/db.ts';
import { notifySql } from '../../core/invalidation.ts';

export interface CodeRow {
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
