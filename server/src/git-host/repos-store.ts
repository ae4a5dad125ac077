import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';

export interface RepoRow {
  id: number;
  tenant_id: string;
  name: string;
  folder: string;
  is_private: boolean;
  description: string;
  default_branch: string;
  created_by: string | null;
  created_at: Date;
  pushed_at: Date | null;
}

/** Names of branches and tags with what they point at. */
export type Refs = Record<string, string>;

type Tables = {
  git_host_repos: RepoRow & { refs: Refs; push_begun_at: Date | null };
};

const columns = [
  ...(['id', 'tenant_id', 'name', 'folder', 'is_private', 'description'] as const),
  ...(['default_branch', 'created_by', 'created_at', 'pushed_at'] as const),
] as const;

export async function findRepoRow(db: Db, tenantId: string, name: string): Promise<RepoRow | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('git_host_repos')
    .select(columns)
    .where('tenant_id', '=', tenantId)
    .where(sql<boolean>`lower(name) = lower(${name})`)
    .executeTakeFirst();
}

export async function findRepoRowById(db: Db, id: number): Promise<RepoRow | undefined> {
  return db
    .withTables<Tables>()
    .selectFrom('git_host_repos')
    .select(columns)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Null: the tenant has one of the name. */
export async function insertRepoRow(
  tx: Tx,
  row: Omit<RepoRow, 'id' | 'pushed_at' | 'default_branch'>,
): Promise<RepoRow | null> {
  const { rows } = await sql<RepoRow>`
    insert into svc.git_host_repos (tenant_id, name, folder, is_private, description, created_by, created_at)
    values (${row.tenant_id}, ${row.name}, ${row.folder}, ${row.is_private}, ${row.description},
      ${row.created_by}, ${row.created_at})
    on conflict (tenant_id, lower(name)) do nothing
    returning id, tenant_id, name, folder, is_private, description, default_branch, created_by, created_at,
      pushed_at`.execute(tx);
  return rows[0] ?? null;
}

export async function deleteRepoRow(tx: Tx, tenantId: string, id: number): Promise<boolean> {
  const gone = await tx
    .withTables<Tables>()
    .deleteFrom('git_host_repos')
    .where('tenant_id', '=', tenantId)
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst();
  return gone !== undefined;
}

export interface RepoFilter {
  /** Null: all of the tenant's. */
  ids: readonly number[] | null;
  /** Beside those: what they made and what is open to the tenant. */
  userId: string | null;
}

/** In the order in which they were made. */
export async function listRepoRows(
  db: Db,
  tenantId: string,
  filter: RepoFilter,
  page: { limit: number; offset: number },
): Promise<{ rows: RepoRow[]; total: number }> {
  const some = db
    .withTables<Tables>()
    .selectFrom('git_host_repos')
    .where('tenant_id', '=', tenantId)
    .where((where) => {
      if (filter.ids === null) return where.lit(true);
      const listed = sql<boolean>`id = any(${filter.ids}::bigint[])`;
      if (filter.userId === null) return listed;
      return where.or([listed, where('created_by', '=', filter.userId), where('is_private', '=', false)]);
    });
  const rows = await some.select(columns).orderBy('id').limit(page.limit).offset(page.offset).execute();
  const { total } = await some.select(sql<number>`count(*)`.as('total')).executeTakeFirstOrThrow();
  return { rows, total };
}

export async function notePushBegun(db: Db, id: number, at: Date): Promise<void> {
  await db
    .withTables<Tables>()
    .updateTable('git_host_repos')
    .set({ push_begun_at: at })
    .where('id', '=', id)
    .execute();
}

/** For as long as the transaction lasts, nobody else tells what changed in it. */
export async function lockRefs(
  tx: Tx,
  id: number,
): Promise<(RepoRow & { refs: Refs; push_begun_at: Date | null }) | undefined> {
  return tx
    .withTables<Tables>()
    .selectFrom('git_host_repos')
    .select([...columns, 'refs', 'push_begun_at'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

export async function keepRefs(
  tx: Tx,
  id: number,
  set: { refs: Refs; pushed_at: Date; default_branch: string },
): Promise<void> {
  await tx
    .withTables<Tables>()
    .updateTable('git_host_repos')
    .set({ ...set, refs: sql`${JSON.stringify(set.refs)}::jsonb` })
    .where('id', '=', id)
    .execute();
}

/** Unless another has begun since. */
export async function notePushEnded(db: Db, id: number, notAfter: Date): Promise<void> {
  await db
    .withTables<Tables>()
    .updateTable('git_host_repos')
    .set({ push_begun_at: null })
    .where('id', '=', id)
    .where('push_begun_at', '<=', notAfter)
    .execute();
}

export async function listUnfinishedPushes(
  db: Db,
  before: Date,
): Promise<{ id: number; push_begun_at: Date }[]> {
  const rows = await db
    .withTables<Tables>()
    .selectFrom('git_host_repos')
    .select(['id', 'push_begun_at'])
    .where('push_begun_at', '<', before)
    .orderBy('push_begun_at')
    .limit(100)
    .execute();
  return rows.flatMap(({ id, push_begun_at }) => (push_begun_at === null ? [] : [{ id, push_begun_at }]));
}

export async function knownFolders(db: Db): Promise<Set<string>> {
  const rows = await db.withTables<Tables>().selectFrom('git_host_repos').select('folder').execute();
  return new Set(rows.map(({ folder }) => folder));
}
