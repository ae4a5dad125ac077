import { sql } from 'kysely';
import { type Db, sqlState, type Tx } from '../../core/db.ts';

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

export type Refs = Record<string, string>;

type Tables = {
  git_host_repos: RepoRow & { refs: Refs; push_begun_at: Date | null };
  git_host_hooks: HookRow;
};

const columns = [
  'id',
  'tenant_id',
  'name',
  'folder',
  'is_private',
  'description',
  'default_branch',
  'created_by',
  'created_at',
  'pushed_at',
] as const;

export async function findRepoRow(db: Db, tenantId: string, name: string): Promise<RepoRow | undefined> {
  const repos = db.withTables<Tables>().selectFrom('git_host_repos').select(columns);
  const named = repos.where(sql<boolean>`lower(name) = lower(${name})`);
  return named.where('tenant_id', '=', tenantId).executeTakeFirst();
}

export async function findRepoRowById(db: Db, id: number): Promise<RepoRow | undefined> {
  const repos = db.withTables<Tables>().selectFrom('git_host_repos').select(columns);
  return repos.where('id', '=', id).executeTakeFirst();
}

export async function findRepoWithRefs(db: Db, id: number): Promise<(RepoRow & { refs: Refs }) | undefined> {
  const repos = db.withTables<Tables>().selectFrom('git_host_repos');
  return repos
    .select([...columns, 'refs'])
    .where('id', '=', id)
    .executeTakeFirst();
}

export async function insertRepoRow(tx: Tx, row: Omit<RepoRow, 'id' | 'pushed_at' | 'default_branch'>) {
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
  const { numAffectedRows } = await sql`
    delete from svc.git_host_repos where tenant_id = ${tenantId} and id = ${id}`.execute(tx);
  return numAffectedRows === 1n;
}

export async function listRepoRows(
  db: Db,
  tenantId: string,
  filter: { ids: readonly number[] | null; userId: string | null },
  page: { limit: number; offset: number },
): Promise<{ rows: RepoRow[]; total: number }> {
  const matching = db
    .withTables<Tables>()
    .selectFrom('git_host_repos')
    .where('tenant_id', '=', tenantId)
    .where((where) => {
      if (filter.ids === null) return where.lit(true);
      const listed = sql<boolean>`id = any(${filter.ids}::bigint[])`;
      if (filter.userId === null) return listed;
      return where.or([listed, where('created_by', '=', filter.userId), where('is_private', '=', false)]);
    });
  const rows = await matching.select(columns).orderBy('id').limit(page.limit).offset(page.offset).execute();
  const { total } = await matching.select(sql<number>`count(*)`.as('total')).executeTakeFirstOrThrow();
  return { rows, total };
}

export async function markPushStarted(db: Db, id: number, at: Date): Promise<void> {
  await sql`update svc.git_host_repos set push_begun_at = ${at} where id = ${id}`.execute(db);
}

export function lockRepoForUpdate(tx: Tx, id: number) {
  return tx
    .withTables<Tables>()
    .selectFrom('git_host_repos')
    .select([...columns, 'refs', 'push_begun_at'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

export async function saveRefs(
  tx: Tx,
  id: number,
  { refs, pushed_at, default_branch }: { refs: Refs; pushed_at: Date; default_branch: string },
): Promise<void> {
  await sql`update svc.git_host_repos set refs = ${JSON.stringify(refs)}, pushed_at = ${pushed_at},
    default_branch = ${default_branch} where id = ${id}`.execute(tx);
}

export async function markPushFinished(db: Db, id: number, notAfter: Date): Promise<void> {
  await sql`update svc.git_host_repos set push_begun_at = null
    where id = ${id} and push_begun_at <= ${notAfter}`.execute(db);
}

export async function listUnfinishedPushes(db: Db, before: Date) {
  const { rows } = await sql<{ id: number; push_begun_at: Date }>`
    select id, push_begun_at from svc.git_host_repos
    where push_begun_at < ${before} order by push_begun_at limit 100`.execute(db);
  return rows;
}

export async function listRepoFolders(db: Db): Promise<Set<string>> {
  const rows = await db.withTables<Tables>().selectFrom('git_host_repos').select('folder').execute();
  return new Set(rows.map(({ folder }) => folder));
}

export interface HostUser {
  id: number;
  userId: string;
  login: string;
}

export interface HostInstallation {
  id: number;
  tenantId: string;
  createdAt: Date;
}

export async function findOrCreateHostUser(db: Db, { userId, email }: { userId: string; email: string }) {
  const stem = loginFromEmail(email);
  for (let attempt = 0; ; attempt++) {
    const found = await findHostUser(db, userId);
    if (found) return found;
    if (attempt > 50) throw new Error('No free login at the git host after 50 attempts.');
    // On a conflict the login belongs to another user, or a parallel request created this one: the next round decides.
    const login =
      attempt === 0 ? stem : `${stem}-${attempt < 10 ? attempt + 1 : Bun.randomUUIDv7().slice(-8)}`;
    await sql`insert into svc.git_host_users (user_id, login) values (${userId}, ${login})
      on conflict do nothing`.execute(db);
  }
}

async function findHostUser(db: Db, userId: string): Promise<HostUser | null> {
  const { rows } = await sql<HostUser>`
    select id, user_id as "userId", login from svc.git_host_users where user_id = ${userId}`.execute(db);
  return rows[0] ?? null;
}

/** A trigger creates the installation together with the tenant, so reading it writes nothing. */
export async function getTenantInstallation(db: Db, tenantId: string): Promise<HostInstallation> {
  const { rows } = await sql<HostInstallation>`
    select id, tenant_id as "tenantId", created_at as "createdAt"
    from svc.git_host_installations where tenant_id = ${tenantId}`.execute(db);
  if (!rows[0]) throw new Error(`Tenant ${tenantId} has no git host installation.`);
  return rows[0];
}

export async function findInstallation(db: Db, id: number): Promise<HostInstallation | null> {
  const { rows } = await sql<HostInstallation>`
    select id, tenant_id as "tenantId", created_at as "createdAt"
    from svc.git_host_installations where id = ${id}`.execute(db);
  return rows[0] ?? null;
}

function loginFromEmail(email: string): string {
  const local = (email.split('@')[0] ?? '').toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const stem = local.slice(0, 39).replace(/^-+|-+$/g, '');
  return stem === '' ? 'user' : stem;
}

export async function listAccountUserIds(db: Db, accountId: number): Promise<string[]> {
  const { rows } = await sql<{ userId: string }>`
    select user_id as "userId" from svc.git_host_users where id = ${accountId}`.execute(db);
  return rows.map(({ userId }) => userId);
}

export interface HookRow {
  id: number;
  repo_id: number;
  url: string;
  secret_sealed: Buffer | null;
  content_type: 'json' | 'form';
  events: string[];
  is_active: boolean;
  created_at: Date;
}

interface DeliveryRow {
  id: string;
  hook_id: number;
  event: string;
  payload: string;
  attempts: number;
  status: number | null;
  next_try_at: Date | null;
  delivered_at: Date | null;
  created_at: Date;
}

export function listHookRows(db: Db, repoId: number): Promise<HookRow[]> {
  const hooks = db.withTables<Tables>().selectFrom('git_host_hooks').selectAll();
  return hooks.where('repo_id', '=', repoId).orderBy('id').execute();
}

export function findHookRow(db: Db, repoId: number, id: number): Promise<HookRow | undefined> {
  const hooks = db.withTables<Tables>().selectFrom('git_host_hooks').selectAll();
  return hooks.where((row) => row.and({ repo_id: repoId, id })).executeTakeFirst();
}

export async function insertHookRow(db: Db, row: Omit<HookRow, 'id'>): Promise<HookRow | null> {
  const { rows } = await sql<HookRow>`
    insert into svc.git_host_hooks (repo_id, url, secret_sealed, content_type, events, is_active, created_at)
    values (${row.repo_id}, ${row.url}, ${row.secret_sealed}, ${row.content_type}, ${row.events},
      ${row.is_active}, ${row.created_at})
    on conflict (repo_id, url) do nothing
    returning *`.execute(db);
  return rows[0] ?? null;
}

export async function updateHookRow(
  db: Db,
  row: Pick<HookRow, 'id' | 'repo_id'>,
  set: Partial<Pick<HookRow, 'url' | 'secret_sealed' | 'content_type' | 'events' | 'is_active'>>,
): Promise<HookRow | undefined | 'taken'> {
  try {
    return await db
      .withTables<Tables>()
      .updateTable('git_host_hooks')
      .set({ ...set, url: set.url ?? sql<string>`url` })
      .where((hook) => hook.and({ repo_id: row.repo_id, id: row.id }))
      .returningAll()
      .executeTakeFirst();
  } catch (error) {
    if (sqlState(error) === '23505') return 'taken';
    throw error;
  }
}

export async function listHooksWithSecret(db: Db) {
  const { rows } = await sql<{ id: number; repo_id: number; secret_sealed: Buffer }>`
    select id, repo_id, secret_sealed from svc.git_host_hooks
    where secret_sealed is not null order by id`.execute(db);
  return rows;
}

/** Does nothing when the hook got another secret meanwhile. */
export async function replaceHookSecret(
  db: Db,
  hook: { id: number; secret_sealed: Buffer },
  sealed: Buffer,
): Promise<void> {
  await sql`update svc.git_host_hooks set secret_sealed = ${sealed}
    where id = ${hook.id} and secret_sealed = ${hook.secret_sealed}`.execute(db);
}

export async function deleteHookRow(db: Db, repoId: number, id: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from svc.git_host_hooks where repo_id = ${repoId} and id = ${id}`.execute(db);
  return numAffectedRows === 1n;
}

export async function insertDelivery(
  db: Db,
  delivery: Pick<DeliveryRow, 'hook_id' | 'event' | 'payload'>,
  now: Date,
): Promise<string> {
  const id = Bun.randomUUIDv7();
  await sql`insert into svc.git_host_deliveries (id, hook_id, event, payload, next_try_at, created_at)
    values (${id}, ${delivery.hook_id}, ${delivery.event}, ${delivery.payload}, ${now}, ${now})`.execute(db);
  return id;
}

export type ClaimedDelivery = DeliveryRow &
  Pick<HookRow, 'url' | 'secret_sealed' | 'content_type' | 'repo_id'>;

/** Leases the delivery that has been due the longest. First attempts of one hook are delivered in order, one at a time. */
export async function claimDelivery(db: Db, leaseSeconds: number): Promise<ClaimedDelivery | null> {
  const { rows } = await sql<ClaimedDelivery>`
    with due as (
      select d.id from svc.git_host_deliveries d
      where d.next_try_at <= now()
        and not exists (select from svc.git_host_deliveries earlier
          where earlier.hook_id = d.hook_id and earlier.next_try_at is not null
            and earlier.attempts < 2 and earlier.id < d.id)
      order by d.next_try_at, d.id limit 1 for update skip locked
    )
    update svc.git_host_deliveries d
    set next_try_at = now() + make_interval(secs => ${leaseSeconds}), attempts = d.attempts + 1
    from due, svc.git_host_hooks h
    where d.id = due.id and h.id = d.hook_id
    returning d.*, h.url, h.secret_sealed, h.content_type, h.repo_id`.execute(db);
  return rows[0] ?? null;
}

export async function hasDueDelivery(db: Db): Promise<boolean> {
  const { rows } = await sql`
    select from svc.git_host_deliveries
    where next_try_at < now() + interval '15 seconds' limit 1`.execute(db);
  return rows.length > 0;
}

export async function renewDelivery(db: Db, id: string, leaseSeconds: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.git_host_deliveries set next_try_at = now() + make_interval(secs => ${leaseSeconds})
    where id = ${id} and next_try_at is not null`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

export async function finishDelivery(
  db: Db,
  id: string,
  { status, retryInSeconds }: { status: number | null; retryInSeconds: number | null },
): Promise<void> {
  const isDelivered = status !== null && status >= 200 && status < 300;
  await sql`
    update svc.git_host_deliveries set status = ${status},
      next_try_at = now() + make_interval(secs => ${retryInSeconds}::double precision),
      delivered_at = ${isDelivered ? sql`now()` : null}
    where id = ${id}`.execute(db);
}

export async function deleteOldDeliveries(db: Db, before: Date): Promise<void> {
  await sql`delete from svc.git_host_deliveries
    where next_try_at is null and created_at < ${before}`.execute(db);
}
