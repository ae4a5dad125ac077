import { CompiledQuery, sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { notifySql } from '../../core/invalidation.ts';
import { activityEveryMs, type InstanceSlot, workTag } from './rules.ts';

export interface InstanceRow {
  id: string;
  tenant_id: string;
  app_id: string;
  deployment_id: string;
  node: string;
  handle: Readonly<Record<string, unknown>> | null;
  address: string | null;
  state: 'starting' | 'ready' | 'draining';
  started_at: Date;
  confirmed_at: Date;
  draining_at: Date | null;
  restarts: number;
  process: string;
  index: number;
  memory_bytes: number | null;
}
type Tables = { app_instances: InstanceRow };

/** An instance that was not confirmed for this long counts as gone. */
export const confirmedSeconds = 15;
const lostSeconds = 60;

export async function insertInstanceRow(
  db: Db,
  row: Pick<InstanceRow, 'id' | 'tenant_id' | 'app_id' | 'deployment_id' | 'node' | 'process' | 'index'>,
): Promise<void> {
  await sql`
    insert into svc.app_instances
      (id, tenant_id, app_id, deployment_id, node, process, index, state, started_at, confirmed_at)
    values (${row.id}, ${row.tenant_id}, ${row.app_id}, ${row.deployment_id}, ${row.node}, ${row.process}, ${row.index},
      'starting', now(), now())`.execute(db);
}

type ListedInstance = Pick<
  InstanceRow,
  'id' | 'process' | 'index' | 'state' | 'deployment_id' | 'restarts' | 'started_at' | 'memory_bytes'
> & { deployment_seq: number };

export async function listAppInstances(db: Db, { tenantId, appId }: AppRef): Promise<ListedInstance[]> {
  const { rows } = await sql<ListedInstance>`
    select i.id, i.process, i.index, i.state, i.memory_bytes::float8 as memory_bytes, i.restarts, i.deployment_id,
      d.seq as deployment_seq, i.started_at
    from svc.app_instances i join svc.deployments d on d.id = i.deployment_id
    where i.tenant_id = ${tenantId} and i.app_id = ${appId}
    order by i.process <> 'web', i.process, d.seq, i.index, i.id`.execute(db);
  return rows;
}

export async function saveStarted(
  db: Db,
  { id, handle, address }: Pick<InstanceRow, 'id' | 'handle' | 'address'>,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.app_instances set handle = ${JSON.stringify(handle)}, address = ${address}, confirmed_at = now()
    where id = ${id} and state = 'starting'`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

export async function saveReady(db: Db, id: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.app_instances set state = 'ready', confirmed_at = now() where id = ${id} and state = 'starting'
  `.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

export function listNodeInstances(db: Db, node: string): Promise<InstanceRow[]> {
  return db.withTables<Tables>().selectFrom('app_instances').selectAll().where('node', '=', node).execute();
}

export function listDeploymentInstances(db: Db, deploymentId: string): Promise<InstanceRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('app_instances')
    .selectAll()
    .where('deployment_id', '=', deploymentId)
    .execute();
}

export async function databaseTime(db: Db): Promise<Date> {
  const { now } = await db.selectNoFrom(sql<Date>`now()`.as('now')).executeTakeFirstOrThrow();
  return now;
}

export async function confirmInstances(
  db: Db,
  node: string,
  seen: readonly { id: string; restarts: number }[],
): Promise<void> {
  if (seen.length === 0) return;
  await sql`
    update svc.app_instances i set confirmed_at = now(), restarts = s.restarts
    from jsonb_to_recordset(${JSON.stringify(seen)}::jsonb) as s(id uuid, restarts int)
    where i.id = s.id and i.node = ${node}`.execute(db);
}

export async function clearAddress(db: Db, id: string): Promise<void> {
  await sql`update svc.app_instances set address = null where id = ${id} and state = 'ready'`.execute(db);
}

export async function saveAddress(db: Db, { id, address }: Pick<InstanceRow, 'id' | 'address'>) {
  const { numAffectedRows } = await sql`
    update svc.app_instances set address = ${address} where id = ${id} and state = 'ready'`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

export async function deleteInstanceRow(db: Db, id: string): Promise<boolean> {
  const { numAffectedRows } = await sql`delete from svc.app_instances where id = ${id}`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

export async function drainAppInstances(
  tx: Tx,
  { tenantId, appId }: AppRef,
  { except }: { except: string | null },
): Promise<void> {
  await sql`
    update svc.app_instances set state = 'draining', draining_at = now()
    where tenant_id = ${tenantId} and app_id = ${appId} and state <> 'draining'
      and (${except}::uuid is null or deployment_id <> ${except}::uuid)`.execute(tx);
}

/** Without an address they have no requests, so that they can stop at once. */
export async function abandonInstances(tx: Tx, deploymentId: string): Promise<void> {
  await sql`
    update svc.app_instances set state = 'draining', draining_at = now(), address = null
    where deployment_id = ${deploymentId}`.execute(tx);
}

export async function deleteLostInstances(db: Db, asOf: Date): Promise<void> {
  await sql`
    delete from svc.app_instances
    where confirmed_at < ${asOf}::timestamptz - make_interval(secs => ${lostSeconds})`.execute(db);
}

export async function deleteNodeInstances(
  db: Db,
  node: string,
  { except = [] }: { except?: readonly { instanceId: string }[] } = {},
): Promise<void> {
  const ids = except.map(({ instanceId }) => instanceId);
  await sql`delete from svc.app_instances where node = ${node} and id <> all(${ids}::uuid[])`.execute(db);
}

/** `svc.apps a`, its live deployment `d`, each process `p`, as many as `instancesMax`. Same rules as `processScales`. */
const running = sql`
  svc.apps a join svc.deployments d on d.id = a.live_deployment_id
  cross join lateral jsonb_each(coalesce(d.start_with->'processes', '{"web": {}}')) as p (name, plan)`;
const isAwake = sql`a.record = 'active' and a.runtime = 'running' and d.method <> 'static'
  and not exists (select from svc.app_activity y where y.app_id = a.id and y.asleep_since is not null)`;
const instancesMax = sql`coalesce(
  (select s.instances from svc.app_scales s where s.app_id = a.id and s.process = p.name),
  (p.plan->>'instances')::int, 1)`;

/** How long a deployment that waits for its review runs after somebody has opened it. */
const openedMinutes = 15;
const reviewed = sql`svc.deployments d join svc.apps a on a.id = d.app_id
  cross join (values ('web')) as p (name) cross join (values (1)) as n (index)`;
const isOpened = sql`d.state = 'built' and d.ended_at is not null and d.method <> 'static'
  and d.opened_at > now() - make_interval(mins => ${openedMinutes})
  and a.record = 'active' and a.runtime = 'running'`;

export async function drainObsoleteInstances(db: Db, node: string): Promise<string[]> {
  const { rows } = await sql<{ appId: string }>`
    update svc.app_instances i set state = 'draining', draining_at = now()
    where i.node = ${node} and i.state = 'ready' and not exists (
      select from ${running}
      where a.id = i.app_id and d.id = i.deployment_id and p.name = i.process and ${isAwake}
        and i.index <= ${instancesMax})
      and not exists (
        select from ${reviewed}
        where d.id = i.deployment_id and p.name = i.process and n.index = i.index and ${isOpened})
    returning i.app_id as "appId"`.execute(db);
  return rows.map(({ appId }) => appId);
}

export interface MissingInstance extends AppRef, InstanceSlot {
  deploymentId: string;
  asOf: Date;
}

const isMissing = (asOf: Date) => sql`not exists (
  select from svc.app_instances i
  where i.deployment_id = d.id and i.process = p.name and i.index = n.index and i.state in ('starting', 'ready')
    and i.confirmed_at > ${asOf}::timestamptz - make_interval(secs => ${confirmedSeconds}))`;

export async function listMissingInstances(db: Db, runtime: string, asOf: Date): Promise<MissingInstance[]> {
  const { rows } = await sql<Omit<MissingInstance, 'asOf'>>`
    select a.tenant_id as "tenantId", a.id as "appId", d.id as "deploymentId", p.name as process, n.index
    from ${running} cross join lateral generate_series(1, ${instancesMax}) as n (index)
    where a.live_deployment_id is not null and d.runtime = ${runtime} and ${isAwake} and ${isMissing(asOf)}
    order by p.name <> 'web', d.live_at, p.name, n.index limit 200`.execute(db);
  return rows.map((row) => ({ ...row, asOf }));
}

export async function listMissingReviews(db: Db, runtime: string, asOf: Date): Promise<MissingInstance[]> {
  const { rows } = await sql<Omit<MissingInstance, 'asOf'>>`
    select d.tenant_id as "tenantId", d.app_id as "appId", d.id as "deploymentId", p.name as process, n.index
    from ${reviewed} where ${isOpened} and d.runtime = ${runtime} and ${isMissing(asOf)}
    order by d.opened_at desc limit 20`.execute(db);
  return rows.map((row) => ({ ...row, asOf }));
}

/** False if it runs by now, or should not. Locks the app's row and deletes the row of the instance that was lost. */
export async function claimMissingInstance(tx: Db, missing: MissingInstance): Promise<boolean> {
  const { tenantId, appId, deploymentId, process, index, asOf } = missing;
  await sql`
    select from svc.apps where tenant_id = ${tenantId} and id = ${appId} for no key update`.execute(tx);
  // A second statement: one that waits for a lock sees the other tables as they were before the wait.
  const { rows } = await sql`
    select from ${running} cross join (select ${index}::int as index) n
    where a.tenant_id = ${tenantId} and a.id = ${appId} and d.id = ${deploymentId} and p.name = ${process}
      and ${isAwake} and n.index <= ${instancesMax} and ${isMissing(asOf)}
    union all
    select from ${reviewed}
    where d.tenant_id = ${tenantId} and d.id = ${deploymentId} and p.name = ${process} and n.index = ${index}
      and ${isOpened} and ${isMissing(asOf)}`.execute(tx);
  if (rows.length === 0) return false;
  await sql`
    delete from svc.app_instances where deployment_id = ${deploymentId}
      and process = ${process} and index = ${index} and state <> 'draining'`.execute(tx);
  return true;
}

export async function hasAnythingToRun(db: Db): Promise<boolean> {
  const { rows } = await sql<{ is: boolean }>`
    select exists (select from svc.app_instances) or exists (
      select from svc.apps a join svc.deployments d on d.id = a.live_deployment_id
      where a.record = 'active' and a.runtime = 'running' and d.method <> 'static') as is`.execute(db);
  return rows[0]?.is === true;
}

export async function listScales(db: Db, { tenantId, appId }: AppRef): Promise<Map<string, number>> {
  const { rows } = await sql<{ process: string; instances: number }>`
    select process, instances from svc.app_scales
    where tenant_id = ${tenantId} and app_id = ${appId} order by process`.execute(db);
  return new Map(rows.map(({ process, instances }) => [process, instances]));
}

export async function saveScale(
  tx: Tx,
  { tenantId, appId }: AppRef,
  { process, instances }: { process: string; instances: number },
): Promise<void> {
  await sql`
    insert into svc.app_scales (app_id, tenant_id, process, instances)
    values (${appId}, ${tenantId}, ${process}, ${instances})
    on conflict (app_id, process) do update set instances = excluded.instances`.execute(tx);
}

export async function deleteScales(
  tx: Tx,
  { tenantId, appId }: AppRef,
  processes: readonly string[],
): Promise<void> {
  await sql`
    delete from svc.app_scales where tenant_id = ${tenantId} and app_id = ${appId}
      and process = any(${[...processes]}::text[])`.execute(tx);
}

/** For a deployment that goes live: it is awake. Only apps that may sleep have a row. */
export async function resetActivity(tx: Tx, appId: string, { canSleep }: { canSleep: boolean }) {
  if (canSleep)
    await sql`
      insert into svc.app_activity (app_id, last_active_at) values (${appId}, now())
      on conflict (app_id) do update set last_active_at = now(), asleep_since = null`.execute(tx);
  else await sql`delete from svc.app_activity where app_id = ${appId}`.execute(tx);
}

export async function findAsleepSince(db: Db, appId: string): Promise<Date | null> {
  const { rows } = await sql<{ since: Date | null }>`
    select asleep_since as since from svc.app_activity where app_id = ${appId}`.execute(db);
  return rows[0]?.since ?? null;
}

export async function recordActivity(db: Db, appIds: readonly string[]): Promise<void> {
  await sql`
    update svc.app_activity set last_active_at = now()
    where app_id = any(${[...appIds]}::uuid[])`.execute(db);
}

/** Returns the apps that sleep from now on. A server process may not have written the last minute of requests yet. */
export async function putToSleep(db: Db): Promise<string[]> {
  const { rows } = await sql<{ appId: string }>`
    update svc.app_activity y set asleep_since = now()
    from svc.apps a join svc.deployments d on d.id = a.live_deployment_id
    where a.id = y.app_id and y.asleep_since is null and a.record = 'active' and a.runtime = 'running'
      and y.last_active_at < now() - make_interval(
        secs => ((d.start_with->>'sleepMs')::float8 + ${activityEveryMs}) / 1000)
    returning y.app_id as "appId"`.execute(db);
  return rows.map(({ appId }) => appId);
}

/** Notifies the reconcilers, one of which starts the app. Does nothing for an app that is awake. */
export async function wakeApp(db: Db, appId: string): Promise<void> {
  const { numAffectedRows } = await sql`
    update svc.app_activity set asleep_since = null, last_active_at = now()
    where app_id = ${appId} and asleep_since is not null`.execute(db);
  if ((numAffectedRows ?? 0n) > 0n) await db.executeQuery(CompiledQuery.raw(notifySql, [workTag]));
}

interface LiveInstances {
  deploymentId: string;
  addresses: string[];
}

/** Null for sites and for apps that do not run. Cached under the app's tag. */
export async function findLiveInstances(db: Db, appId: string): Promise<LiveInstances | null> {
  const { rows } = await sql<LiveInstances>`
    select d.id as "deploymentId", array(
      select i.address from svc.app_instances i
      where i.deployment_id = d.id and i.state = 'ready' and i.address is not null
        and i.confirmed_at > now() - make_interval(secs => ${confirmedSeconds})
      order by i.started_at) as addresses
    from svc.apps a join svc.deployments d on d.id = a.live_deployment_id
    where a.id = ${appId} and a.record = 'active' and a.runtime = 'running'
      and d.method <> 'static'`.execute(db);
  return rows[0] ?? null;
}
