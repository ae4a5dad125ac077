import type { Db } from '../plumbing/db.ts';

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
export interface VisitRow {
  token_hash: string;
  app_id: string;
  host: string;
  user_id: string;
  credential_id: string;
  created_at: Date;
  expires_at: Date;
}
type Tables = { site_codes: CodeRow; site_visits: VisitRow };

export async function insertCodeRow(db: Db, row: CodeRow): Promise<void> {
  await db.withTables<Tables>().insertInto('site_codes').values(row).execute();
}

export function findCodeRow(db: Db, codeHash: string): Promise<CodeRow | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('site_codes')
    .selectAll()
    .where('code_hash', '=', codeHash)
    .executeTakeFirst();
}

/** Gone with the first who asks, whatever comes of it. */
export function takeCodeRow(db: Db, codeHash: string): Promise<CodeRow | undefined> {
  return db
    .withTables<Tables>()
    .deleteFrom('site_codes')
    .where('code_hash', '=', codeHash)
    .returningAll()
    .executeTakeFirst();
}

export async function insertVisitRow(db: Db, row: VisitRow): Promise<void> {
  await db.withTables<Tables>().insertInto('site_visits').values(row).execute();
}

export function findVisitRow(
  db: Db,
  appId: string,
  { tokenHash, host }: { tokenHash: string; host: string },
): Promise<VisitRow | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('site_visits')
    .selectAll()
    .where('token_hash', '=', tokenHash)
    .where('app_id', '=', appId)
    .where('host', '=', host)
    .executeTakeFirst();
}

/** At its own host alone: what another host was given is not this one's to end. */
export async function deleteVisitRow(
  db: Db,
  { tokenHash, host }: { tokenHash: string; host: string },
): Promise<boolean> {
  const { numDeletedRows } = await db
    .withTables<Tables>()
    .deleteFrom('site_visits')
    .where('token_hash', '=', tokenHash)
    .where('host', '=', host)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}
