import { CompiledQuery, sql } from 'kysely';
import { type Db, sqlState } from '../../core/db.ts';
import { notifySql } from '../../core/invalidation.ts';
import type { InstanceRef } from '../../drivers/runtime/runtime.ts';
import { logTag } from '../logs/log-lines.ts';
import { leaseMs } from './rules.ts';
import type { DeploymentRow, DeploymentState } from './store.ts';

/** `lease` is new with each claim, so that writes of an earlier holder have no effect. */
export interface Claim {
  id: string;
  tenantId: string;
  appId: string;
  lease: string;
  needsBuild: boolean;
}

/** Sites build again in every claim: their files exist only where they were built. */
const needsBuild = sql<boolean>`d.source <> 'artifact' and (d.method = 'static' or d.state in ('queued', 'building'))`;

const leaseEnd = sql<Date>`now() + make_interval(secs => ${leaseMs / 1_000})`;

/** The oldest that is queued or whose lease has expired; tenants with fewer running deployments go first. */
export async function claimDeployment(
  db: Db,
  { required, excludedTenants }: { required: 'all' | 'built'; excludedTenants: readonly string[] },
): Promise<Claim | null> {
  const lease = Bun.randomUUIDv7();
  try {
    const { rows } = await sql<Omit<Claim, 'lease'>>`
      update svc.deployments d set
        state = case d.state when 'queued' then 'building' else d.state end,
        attempts = d.attempts + 1, lease_holder = ${lease}, lease_until = ${leaseEnd},
        started_at = coalesce(d.started_at, now()), is_log_complete = false
      where d.id = (
        select d.id from svc.deployments d
        where d.ended_at is null and (
          d.state = 'queued' and not exists (
            select from svc.deployments o
            where o.app_id = d.app_id and o.state in ('building', 'built', 'releasing') and o.ended_at is null)
          or d.state in ('building', 'built', 'releasing') and d.lease_until < now())
          and d.tenant_id <> all(${excludedTenants}::uuid[])
          and (${required} = 'all' or not (${needsBuild}))
        order by (
          select count(*) from svc.deployments o
          where o.tenant_id = d.tenant_id and o.id <> d.id
            and o.state in ('building', 'built', 'releasing') and o.ended_at is null), d.created_at
        limit 1 for update skip locked)
      returning d.id, d.tenant_id as "tenantId", d.app_id as "appId", (${needsBuild}) as "needsBuild"`.execute(
      db,
    );
    const row = rows[0];
    return row ? { ...row, lease } : null;
  } catch (error) {
    // Another process has just started a deployment of the same app.
    if (sqlState(error) === '23505') return null;
    throw error;
  }
}

export async function hasOpenDeployment(db: Db): Promise<boolean> {
  const { rows } = await sql`select from svc.deployments where ended_at is null limit 1`.execute(db);
  return rows.length > 0;
}

export async function renewLease(db: Db, { id, lease }: Claim): Promise<'held' | 'cancel_asked' | 'lost'> {
  const { rows } = await sql<{ cancel: boolean }>`
    update svc.deployments set lease_until = ${leaseEnd} where id = ${id} and lease_holder = ${lease}
    returning cancel_asked as cancel`.execute(db);
  const row = rows[0];
  if (!row) return 'lost';
  return row.cancel ? 'cancel_asked' : 'held';
}

/** For a process that stops: another one can claim the deployment at once, and the attempt is not counted. */
export async function releaseLease(db: Db, { id, lease }: Claim): Promise<void> {
  await sql`
    update svc.deployments set lease_until = now(), lease_holder = null, attempts = greatest(attempts - 1, 0)
    where id = ${id} and lease_holder = ${lease}`.execute(db);
}

export async function markLogComplete(db: Db, id: string): Promise<void> {
  await sql`update svc.deployments set is_log_complete = true where id = ${id} and ended_at is not null`.execute(
    db,
  );
  await db.executeQuery(CompiledQuery.raw(notifySql, [logTag(id)]));
}

export function findClaimedRow(db: Db, { id, lease }: Claim): Promise<DeploymentRow | undefined> {
  return db
    .withTables<{ deployments: DeploymentRow }>()
    .selectFrom('deployments')
    .selectAll()
    .where((row) => row.and({ id, lease_holder: lease }))
    .executeTakeFirst();
}

export async function updateClaimedRow(
  db: Db,
  { id, lease }: Claim,
  { from, set }: { from: DeploymentState; set: Partial<DeploymentRow> },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .withTables<{ deployments: DeploymentRow }>()
    .updateTable('deployments')
    .set(set)
    .where((row) => row.and({ id, lease_holder: lease, state: from }))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function listLeasedIds(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`
    select id from svc.deployments
    where id = any(${ids}) and ended_at is null and lease_until > now()`.execute(db);
  return new Set(rows.map(({ id }) => id));
}

interface ClaimedSample extends InstanceRef {
  appId: string;
  process: string;
  /** Identifies the sample: a result that arrives after a newer one began is ignored. */
  sample: string;
}

/** Shorter than the interval between two samples, so that none is skipped. */
const sampleGapSeconds = 8;

/** Server processes may share an engine: one at a time samples an instance. */
export async function claimSamples(db: Db, node: string): Promise<ClaimedSample[]> {
  const { rows } = await sql<ClaimedSample>`
    update svc.app_instances set sampled_at = clock_timestamp()
    where id in (select id from svc.app_instances
      where node = ${node} and handle is not null
        and (sampled_at is null or sampled_at < clock_timestamp() - make_interval(secs => ${sampleGapSeconds}))
      for update skip locked)
    returning id as "instanceId", handle, app_id as "appId", process, sampled_at::text as sample`.execute(db);
  return rows;
}

/** Returns the CPU time since the last sample of any server process; null if a newer sample began. Restarts count from 0. */
export async function addCpuTime(
  db: Db,
  { instanceId, sample }: Pick<ClaimedSample, 'instanceId' | 'sample'>,
  { cpuMs, memoryBytes }: { cpuMs: number; memoryBytes: number },
): Promise<number | null> {
  const { rows } = await sql<{ more: number }>`
    update svc.app_instances i set cpu_ms = ${Math.round(cpuMs)}, memory_bytes = ${Math.round(memoryBytes)}
    from (select id, cpu_ms from svc.app_instances
      where id = ${instanceId} and sampled_at = ${sample}::timestamptz for update) before
    where i.id = before.id
    returning (case when i.cpu_ms >= before.cpu_ms then i.cpu_ms - before.cpu_ms
      else i.cpu_ms end)::float8 as more`.execute(db);
  return rows[0]?.more ?? null;
}
