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

/** Instances of server processes that stopped responding. */
export async function deleteLostInstances(db: Db): Promise<void> {
  await sql`
    delete from svc.app_instances
    where confirmed_at < now() - make_interval(secs => ${lostSeconds})`.execute(db);
}

export async function deleteNodeInstances(
  db: Db,
  node: string,
  { except = [] }: { except?: readonly { instanceId: string }[] } = {},
): Promise<void> {
  const kept = except.map(({ instanceId }) => instanceId);
  await sql`delete from svc.app_instances where node = ${node} and id <> all(${kept}::uuid[])`.execute(db);
}
