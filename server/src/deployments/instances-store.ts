import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';
import type { AppPlace } from './store.ts';

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

/** One that nobody has confirmed for so long is not there. */
export const confirmedSeconds = 15;
const forgottenSeconds = 60;

export async function insertInstanceRow(
  db: Db,
  row: Pick<InstanceRow, 'id' | 'tenant_id' | 'app_id' | 'deployment_id' | 'node'>,
): Promise<void> {
  await sql`
    insert into svc.app_instances (id, tenant_id, app_id, deployment_id, node, state, started_at, confirmed_at)
    values (${row.id}, ${row.tenant_id}, ${row.app_id}, ${row.deployment_id}, ${row.node}, 'starting', now(), now())
  `.execute(db);
}

/** False: it is not wanted any more. */
export async function saveStarted(
  db: Db,
  { id, handle, address }: Pick<InstanceRow, 'id' | 'handle' | 'address'>,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.app_instances set handle = ${JSON.stringify(handle)}, address = ${address}, confirmed_at = now()
    where id = ${id} and state = 'starting'`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

/** False: it is not wanted any more. */
export async function saveReady(db: Db, id: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.app_instances set state = 'ready', confirmed_at = now() where id = ${id} and state = 'starting'
  `.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

export function listInstancesAt(db: Db, node: string): Promise<InstanceRow[]> {
  return db.withTables<Tables>().selectFrom('app_instances').selectAll().where('node', '=', node).execute();
}

export function listInstancesOf(db: Db, deploymentId: string): Promise<InstanceRow[]> {
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

/** Nobody is led there until it has an address again. */
export async function clearAddress(db: Db, id: string): Promise<void> {
  await sql`update svc.app_instances set address = null where id = ${id} and state = 'ready'`.execute(db);
}

/** False: it is not wanted any more. */
export async function saveAddress(
  db: Db,
  { id, address }: Pick<InstanceRow, 'id' | 'address'>,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.app_instances set address = ${address} where id = ${id} and state = 'ready'`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

export async function deleteInstanceRow(db: Db, id: string): Promise<boolean> {
  const { numAffectedRows } = await sql`delete from svc.app_instances where id = ${id}`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

/** They get no new requests from now on; `but` is the deployment that goes on. */
export async function drainInstancesOf(
  tx: Tx,
  { tenantId, appId }: AppPlace,
  { but }: { but: string | null },
): Promise<void> {
  await sql`
    update svc.app_instances set state = 'draining', draining_at = now()
    where tenant_id = ${tenantId} and app_id = ${appId} and state <> 'draining'
      and (${but}::uuid is null or deployment_id <> ${but}::uuid)`.execute(tx);
}

/** Of one that is not to be released: nobody was led to them, so they may end at once. */
export async function giveUpInstancesOf(tx: Tx, deploymentId: string): Promise<void> {
  await sql`
    update svc.app_instances set state = 'draining', draining_at = now(), address = null
    where deployment_id = ${deploymentId}`.execute(tx);
}

/** At this node: what is used, and has no right to be. Whatever led there, the tables of apps win. */
export async function drainUnwanted(db: Db, node: string): Promise<string[]> {
  const { rows } = await sql<{ appId: string }>`
    update svc.app_instances i set state = 'draining', draining_at = now()
    where i.node = ${node} and i.state = 'ready' and not exists (
      select from svc.apps a where a.id = i.app_id and a.live_deployment_id = i.deployment_id
        and a.record = 'active' and a.runtime = 'running')
    returning i.app_id as "appId"`.execute(db);
  return rows.map(({ appId }) => appId);
}

/** Of copies of the server that are silent for long. */
export async function forgetLostInstances(db: Db): Promise<void> {
  await sql`
    delete from svc.app_instances
    where confirmed_at < now() - make_interval(secs => ${forgottenSeconds})`.execute(db);
}

export interface Unserved extends AppPlace {
  deploymentId: string;
}

/** Apps that should run and that nobody runs. */
export async function listUnserved(db: Db, runtime: string): Promise<Unserved[]> {
  const { rows } = await sql<Unserved>`
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

/** Here or at another copy of the server, which may fall silent; also what only has to end. */
export async function isAnythingToRun(db: Db): Promise<boolean> {
  const { rows } = await sql<{ is: boolean }>`
    select exists (select from svc.app_instances) or exists (
      select from svc.apps a join svc.deployments d on d.id = a.live_deployment_id
      where a.record = 'active' and a.runtime = 'running' and d.method <> 'static') as is`.execute(db);
  return rows[0]?.is === true;
}

/** Puts the app in line, then asks again whether it is still so; what is left of those who ran it is forgotten. */
export async function takeOver(tx: Db, { tenantId, appId, deploymentId }: Unserved): Promise<boolean> {
  await sql`select from svc.apps where tenant_id = ${tenantId} and id = ${appId} for no key update`.execute(
    tx,
  );
  // By a statement of its own: one that waits for a lock sees the other tables as they were before it waited.
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

/** What runs there ends with the copy of the server that stops; others take over at once. */
export async function forgetInstancesAt(db: Db, node: string): Promise<void> {
  await sql`delete from svc.app_instances where node = ${node}`.execute(db);
}
