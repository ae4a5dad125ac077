import type { hookStates, pushOutcomes } from '@svc/contract/git-connections.ts';
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
type Tables = { git_connections: ConnectionRow; git_pushes: PushRow; git_links: LinkRow };

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
  await tx.withTables<Tables>().insertInto('git_connections').values(row).execute();
}

export async function updateConnectionRow(db: Db, { tenantId, appId }: AppRef, set: Partial<ConnectionRow>) {
  await db
    .withTables<Tables>()
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
    .withTables<Tables>()
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
    .withTables<Tables>()
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
    .withTables<Tables>()
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
    .withTables<Tables>()
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

export interface PushRow {
  delivery_id: string;
  app_id: string;
  tenant_id: string;
  branch: string;
  commit_sha: string;
  outcome: (typeof pushOutcomes)[number];
  deployment_id: string | null;
  /** The preview that the push has deployed instead of the app. */
  preview_id: string | null;
  received_at: Date;
}

export function findLastPushRow(db: Db, app: AppRef): Promise<PushRow | undefined> {
  const newest = selectPushes(db, app)
    .selectAll()
    .orderBy('received_at', 'desc')
    .orderBy('delivery_id', 'desc');
  return newest.limit(1).executeTakeFirst();
}

export function findPushRow(db: Db, app: AppRef, deliveryId: string): Promise<PushRow | undefined> {
  return selectPushes(db, app).selectAll().where('delivery_id', '=', deliveryId).executeTakeFirst();
}

export async function insertPushRow(tx: Tx, row: PushRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('git_pushes').values(row).execute();
}

export async function deletePushRowsBefore(tx: Tx, { tenantId, appId }: AppRef, at: Date): Promise<void> {
  await sql`delete from svc.git_pushes
    where tenant_id = ${tenantId} and app_id = ${appId} and received_at < ${at}`.execute(tx);
}

/** Whether the deployment was queued for a push of this commit; it learns its own commit only when it fetches. */
export async function isPushOfCommit(
  tx: Tx,
  app: AppRef,
  { deploymentId, commit }: { deploymentId: string; commit: string },
): Promise<boolean> {
  const pushes = selectPushes(tx, app).select('delivery_id');
  const found = pushes.where((row) => row.and({ deployment_id: deploymentId, commit_sha: commit }));
  return (await found.executeTakeFirst()) !== undefined;
}

export async function hasPushOfCommit(db: Db, app: AppRef, commit: string): Promise<boolean> {
  const found = selectPushes(db, app).select('delivery_id').where('commit_sha', '=', commit);
  return (await found.limit(1).executeTakeFirst()) !== undefined;
}

function selectPushes(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('git_pushes')
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }));
}

export interface LinkRow {
  id: string;
  tenant_id: string;
  user_id: string;
  host: string;
  account_id: number;
  login: string;
  kind: 'user' | 'organization';
  token_sealed: Buffer;
  token_expires_at: Date | null;
  refresh_sealed: Buffer | null;
  refresh_expires_at: Date | null;
  linked_at: Date;
}

export function listLinkRows(db: Db, user: TenantUser): Promise<LinkRow[]> {
  return selectLinks(db, user).selectAll().orderBy('linked_at').orderBy('id').execute();
}

export function findLinkRow(db: Db, user: TenantUser, host: string): Promise<LinkRow | undefined> {
  return selectLinks(db, user).selectAll().where('host', '=', host).executeTakeFirst();
}

export function lockLinkRow(tx: Tx, user: TenantUser, id: string): Promise<LinkRow | undefined> {
  return selectLinks(tx, user).selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export function lockLinkRowByHost(tx: Tx, user: TenantUser, host: string): Promise<LinkRow | undefined> {
  return selectLinks(tx, user).selectAll().where('host', '=', host).forUpdate().executeTakeFirst();
}

export async function listLinkedUserIds(
  db: Db,
  tenantId: string,
  { host, accountId }: { host: string; accountId: number },
): Promise<string[]> {
  const { rows } = await sql<{ userId: string }>`select user_id as "userId" from svc.git_links
    where tenant_id = ${tenantId} and host = ${host} and account_id = ${accountId}`.execute(db);
  return rows.map(({ userId }) => userId);
}

export function insertLinkRow(tx: Tx, row: LinkRow): Promise<LinkRow | undefined> {
  const links = tx.withTables<Tables>().insertInto('git_links').values(row).returningAll();
  const added = links.onConflict((conflict) =>
    conflict.columns(['tenant_id', 'user_id', 'host']).doNothing(),
  );
  return added.executeTakeFirst();
}

export function updateLinkRow(tx: Tx, user: TenantUser, id: string, set: Partial<LinkRow>): Promise<LinkRow> {
  const links = tx.withTables<Tables>().updateTable('git_links').set(set).returningAll();
  const own = links.where((row) => row.and({ tenant_id: user.tenantId, user_id: user.userId, id }));
  return own.executeTakeFirstOrThrow();
}

export async function deleteLinkRow(tx: Tx, user: TenantUser, id: string): Promise<void> {
  await sql`delete from svc.git_links
    where tenant_id = ${user.tenantId} and user_id = ${user.userId} and id = ${id}`.execute(tx);
}

function selectLinks(db: Db, { tenantId, userId }: TenantUser) {
  return db
    .withTables<Tables>()
    .selectFrom('git_links')
    .where((row) => row.and({ tenant_id: tenantId, user_id: userId }));
}
