import type { hookStates } from '@svc/contract/git-connections.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';

export interface ConnectionRow {
  app_id: string;
  tenant_id: string;
  host: string;
  repo_id: number;
  repo: string;
  is_private: boolean;
  branch: string;
  installation_id: number;
  web_url: string;
  clone_url: string;
  hook_state: (typeof hookStates)[number];
  hook_id: number | null;
  hook_detail: string;
  connected_by: string;
  connected_at: Date;
}
type Tables = { git_connections: ConnectionRow };

export interface AppPlace {
  tenantId: string;
  appId: string;
}

export interface RepoAt {
  host: string;
  repoId: number;
}

export function findConnectionRow(db: Db, place: AppPlace): Promise<ConnectionRow | undefined> {
  return connectionOfApp(db, place).selectAll().executeTakeFirst();
}

export function lockConnectionRow(tx: Tx, place: AppPlace): Promise<ConnectionRow | undefined> {
  return connectionOfApp(tx, place).selectAll().forUpdate().executeTakeFirst();
}

export async function insertConnectionRow(tx: Tx, row: ConnectionRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('git_connections').values(row).execute();
}

export async function saveConnectionRow(
  db: Db,
  { tenantId, appId }: AppPlace,
  set: Partial<ConnectionRow>,
): Promise<void> {
  await db
    .withTables<Tables>()
    .updateTable('git_connections')
    .set(set)
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .execute();
}

/** Unless the app is connected to another repository by now. */
export async function saveHook(
  db: Db,
  { tenant_id, app_id, host, repo_id }: ConnectionRow,
  set: Pick<ConnectionRow, 'hook_state' | 'hook_detail'> & { hook_id?: number },
): Promise<void> {
  await db
    .withTables<Tables>()
    .updateTable('git_connections')
    .set(set)
    .where('tenant_id', '=', tenant_id)
    .where('app_id', '=', app_id)
    .where('host', '=', host)
    .where('repo_id', '=', repo_id)
    .execute();
}

export async function deleteConnectionRow(tx: Tx, { tenantId, appId }: AppPlace): Promise<void> {
  await tx
    .withTables<Tables>()
    .deleteFrom('git_connections')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId)
    .execute();
}

/** Of all tenants: the git host knows repositories, and not who of us is connected to them. */
export function listConnectionRowsOfRepo(db: Db, { host, repoId }: RepoAt): Promise<ConnectionRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('git_connections')
    .selectAll()
    .where('host', '=', host)
    .where('repo_id', '=', repoId)
    .orderBy('connected_at')
    .orderBy('app_id')
    .execute();
}

export function listConnectionRowsOfApps(
  db: Db,
  tenantId: string,
  { appIds, host }: { appIds: readonly string[]; host: string },
): Promise<ConnectionRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('git_connections')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('host', '=', host)
    .where('app_id', 'in', appIds)
    .execute();
}

/** Hooks of a repository are made and removed one after the other, by whichever copy of the server. */
export async function lockHooksOf(tx: Tx, { host, repoId }: RepoAt): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`svc.git_hooks ${host} ${repoId}`}, 0))`.execute(
    tx,
  );
}

function connectionOfApp(db: Db, { tenantId, appId }: AppPlace) {
  return db
    .withTables<Tables>()
    .selectFrom('git_connections')
    .where('tenant_id', '=', tenantId)
    .where('app_id', '=', appId);
}
