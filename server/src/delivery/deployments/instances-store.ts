import { sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';

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
}
type Tables = { app_instances: InstanceRow };

/** An instance that was not confirmed for this long counts as gone. */
export const confirmedSeconds = 15;
const lostSeconds = 60;

export async function insertInstanceRow(
  db: Db,
  row: Pick<InstanceRow, 'id' | 'tenant_id' | 'app_id' | 'deployment_id' | 'node'>,
): Promise<void> {
  await sql`
    insert into svc.app_instances (id, tenant_id, app_id, deployment_id, node, state, started_at, confirmed_at)
    values (${row.id}, ${row.tenant_id}, ${row.app_id}, ${row.deployment_id}, ${row.node}, 'starting', now(), now())
  `.execute(db);
}

type ListedInstance = Pick<InstanceRow, 'id' | 'state' | 'deployment_id' | 'restarts' | 'started_at'> & {
  deployment_seq: number;
};

export async function listAppInstances(
  db: Db,
  { tenantId, appId }: AppRef,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: ListedInstance[]; total: number }> {
  const { rows } = await sql<ListedInstance>`
    select i.id, i.state, i.deployment_id, d.seq as deployment_seq, i.restarts, i.started_at
    from svc.app_instances i join svc.deployments d on d.id = i.deployment_id
    where i.tenant_id = ${tenantId} and i.app_id = ${appId}
    order by i.started_at, i.id`.execute(db);
  return { rows: rows.slice(offset, offset + limit), total: rows.length };
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

/** Stops routing requests to the instance. */
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

/** Instances at the node that are not of a live deployment of a running app. */
export async function drainObsoleteInstances(db: Db, node: string): Promise<string[]> {
  const { rows } = await sql<{ appId: string }>`
    update svc.app_instances i set state = 'draining', draining_at = now()
    where i.node = ${node} and i.state = 'ready' and not exists (
      select from svc.apps a where a.id = i.app_id and a.live_deployment_id = i.deployment_id
        and a.record = 'active' and a.runtime = 'running')
    returning i.app_id as "appId"`.execute(db);
  return rows.map(({ appId }) => appId);
}

/** Instances of server processes that stopped responding. */
export async function deleteLostInstances(db: Db): Promise<void> {
  await sql`
    delete from svc.app_instances
    where confirmed_at < now() - make_interval(secs => ${lostSeconds})`.execute(db);
}

export interface UnservedApp extends AppRef {
  deploymentId: string;
}

/** Apps that should run and have no confirmed instance. */
export async function listUnservedApps(db: Db, runtime: string): Promise<UnservedApp[]> {
  const { rows } = await sql<UnservedApp>`
    select a.tenant_id as "tenantId", a.id as "appId", d.id as "deploymentId"
    from svc.apps a join svc.deployments d on d.id = a.live_deployment_id
    where a.live_deployment_id is not null and a.record = 'active' and a.runtime = 'running'
      and d.method <> 'static' and d.runtime = ${runtime}
      and not exists (select from svc.app_instances i where i.deployment_id = d.id
        and i.state in ('starting', 'ready')
        and i.confirmed_at > now() - make_interval(secs => ${confirmedSeconds}))
    order by d.live_at limit 200`.execute(db);
  return rows;
}

export async function hasAnythingToRun(db: Db): Promise<boolean> {
  const { rows } = await sql<{ is: boolean }>`
    select exists (select from svc.app_instances) or exists (
      select from svc.apps a join svc.deployments d on d.id = a.live_deployment_id
      where a.record = 'active' and a.runtime = 'running' and d.method <> 'static') as is`.execute(db);
  return rows[0]?.is === true;
}

/** False if the app is served by now. Locks the app's row and deletes the rows of its lost instances. */
export async function claimUnservedApp(tx: Db, { tenantId, appId, deploymentId }: UnservedApp) {
  await sql`select from svc.apps where tenant_id = ${tenantId} and id = ${appId} for no key update`.execute(
    tx,
  );
  // A second statement: one that waits for a lock sees the other tables as they were before the wait.
  const { rows } = await sql`
    select from svc.apps a where a.tenant_id = ${tenantId} and a.id = ${appId}
      and a.live_deployment_id = ${deploymentId} and a.record = 'active' and a.runtime = 'running'
      and not exists (select from svc.app_instances i where i.deployment_id = ${deploymentId}
        and i.state in ('starting', 'ready')
        and i.confirmed_at > now() - make_interval(secs => ${confirmedSeconds}))`.execute(tx);
  if (rows.length === 0) return false;
  await sql`delete from svc.app_instances where deployment_id = ${deploymentId} and state <> 'draining'`.execute(
    tx,
  );
  return true;
}

export async function deleteNodeInstances(
  db: Db,
  node: string,
  { except = [] }: { except?: readonly { instanceId: string }[] } = {},
): Promise<void> {
  const kept = except.map(({ instanceId }) => instanceId);
  await sql`delete from svc.app_instances where node = ${node} and id <> all(${kept}::uuid[])`.execute(db);
}
