import type { hookStates } from '@svc/contract/git-connections.ts';
import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import { type Db, inTransaction, type Tx } from '../../core/db.ts';
import type { TenantUser } from './rules.ts';

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
type ConnectionTables = { git_connections: ConnectionRow };

interface HostRepoRef {
  host: string;
  repoId: number;
}

export function findConnectionRow(db: Db, app: AppRef): Promise<ConnectionRow | undefined> {
  return selectConnection(db, app).selectAll().executeTakeFirst();
}

export function lockConnectionRow(tx: Tx, app: AppRef): Promise<ConnectionRow | undefined> {
  return selectConnection(tx, app).selectAll().forUpdate().executeTakeFirst();
}

export async function insertConnectionRow(tx: Tx, row: ConnectionRow): Promise<void> {
  await tx.withTables<ConnectionTables>().insertInto('git_connections').values(row).execute();
}

export async function updateConnectionRow(db: Db, { tenantId, appId }: AppRef, set: Partial<ConnectionRow>) {
  await db
    .withTables<ConnectionTables>()
    .updateTable('git_connections')
    .set(set)
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }))
    .execute();
}

/** Does nothing if the app was connected to another repository meanwhile. */
export async function updateHook(
  db: Db,
  { tenant_id, app_id, host, repo_id }: ConnectionRow,
  set: Pick<ConnectionRow, 'hook_state' | 'hook_detail'> & { hook_id?: number },
): Promise<void> {
  await db
    .withTables<ConnectionTables>()
    .updateTable('git_connections')
    .set(set)
    .where((row) => row.and({ tenant_id, app_id, host, repo_id }))
    .execute();
}

export async function deleteConnectionRow(tx: Tx, { tenantId, appId }: AppRef): Promise<void> {
  await sql`delete from svc.git_connections where tenant_id = ${tenantId} and app_id = ${appId}`.execute(tx);
}

/** Across all tenants: a webhook names only the repository. */
export function listConnectionRowsOfRepo(db: Db, { host, repoId }: HostRepoRef): Promise<ConnectionRow[]> {
  return db
    .withTables<ConnectionTables>()
    .selectFrom('git_connections')
    .selectAll()
    .where((row) => row.and({ host, repo_id: repoId }))
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
    .withTables<ConnectionTables>()
    .selectFrom('git_connections')
    .selectAll()
    .where((row) => row.and({ tenant_id: tenantId, host }))
    .where('app_id', 'in', appIds)
    .execute();
}

/** Serializes creation and removal of a repository's hooks across all server processes. */
export async function lockRepoHooks(tx: Tx, { host, repoId }: HostRepoRef): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`svc.git_hooks ${host} ${repoId}`}, 0))`.execute(
    tx,
  );
}

function selectConnection(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<ConnectionTables>()
    .selectFrom('git_connections')
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }));
}

interface StateRow {
  state_hash: string;
  tenant_id: string;
  app_id: string;
  user_id: string;
  repo: string | null;
  branch: string;
  expires_at: Date;
}
type StateTables = { git_connect_states: StateRow };

export async function insertStateRow(tx: Tx, row: StateRow): Promise<void> {
  await tx.withTables<StateTables>().insertInto('git_connect_states').values(row).execute();
}

export function findStateRow(db: Db, user: TenantUser, { hash, now }: { hash: string; now: Date }) {
  return selectStates(db, user)
    .selectAll()
    .where('state_hash', '=', hash)
    .where('expires_at', '>', now)
    .executeTakeFirst();
}

/** A state is valid once: one of several concurrent callers gets it. */
export async function consumeStateRow(
  tx: Tx,
  { tenantId, userId }: TenantUser,
  { hash, now }: { hash: string; now: Date },
): Promise<StateRow | undefined> {
  return tx
    .withTables<StateTables>()
    .deleteFrom('git_connect_states')
    .where((row) => row.and({ tenant_id: tenantId, user_id: userId, state_hash: hash }))
    .where('expires_at', '>', now)
    .returningAll()
    .executeTakeFirst();
}

export async function deleteOldStateRows(tx: Tx, { tenantId, userId }: TenantUser, now: Date): Promise<void> {
  await sql`delete from svc.git_connect_states
    where tenant_id = ${tenantId} and user_id = ${userId} and expires_at <= ${now}`.execute(tx);
}

function selectStates(db: Db, { tenantId, userId }: TenantUser) {
  return db
    .withTables<StateTables>()
    .selectFrom('git_connect_states')
    .where((row) => row.and({ tenant_id: tenantId, user_id: userId }));
}

/** Runs a transaction that stays open during a request to the git host, with a longer idle timeout. */
export async function withTransactionDuringRequest<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  return inTransaction(db, async (tx) => {
    await sql`set local idle_in_transaction_session_timeout = '60s'`.execute(tx);
    return work(tx);
  });
}
