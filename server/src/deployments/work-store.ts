import { sql } from 'kysely';
import { sqlState } from '../plumbing/database-errors.ts';
import type { Db } from '../plumbing/db.ts';
import { leaseMs } from './rules.ts';
import type { DeploymentRow, DeploymentState } from './store.ts';

/** A deployment that this copy of the server works on. `lease` is new with each claim: an old one counts for nothing. */
export interface Claimed {
  id: string;
  tenantId: string;
  appId: string;
  lease: string;
}

const leaseEnd = sql<Date>`now() + make_interval(secs => ${leaseMs / 1_000})`;

/** The one that waits longest for whoever carries it out: because it is new, or because who did is silent. */
export async function claimDeployment(db: Db): Promise<Claimed | null> {
  const lease = Bun.randomUUIDv7();
  try {
    const { rows } = await sql<{ id: string; tenantId: string; appId: string }>`
      update svc.deployments d set
        state = case d.state when 'queued' then 'building' else d.state end,
        attempts = d.attempts + 1, lease_holder = ${lease}, lease_until = ${leaseEnd},
        started_at = coalesce(d.started_at, now())
      where d.id = (
        select c.id from svc.deployments c
        where c.ended_at is null and (
          c.state = 'queued' and not exists (
            select from svc.deployments o
            where o.app_id = c.app_id and o.state in ('building', 'built', 'releasing') and o.ended_at is null)
          or c.state in ('building', 'built', 'releasing') and c.lease_until < now())
        order by c.created_at limit 1 for update skip locked)
      returning d.id, d.tenant_id as "tenantId", d.app_id as "appId"`.execute(db);
    const row = rows[0];
    return row ? { ...row, lease } : null;
  } catch (error) {
    // Another copy has begun with one of the same app this very moment.
    if (sqlState(error) === '23505') return null;
    throw error;
  }
}

/** `lost`: it is another's by now. */
export async function renewLease(db: Db, { id, lease }: Claimed): Promise<'held' | 'cancel_asked' | 'lost'> {
  const { rows } = await sql<{ cancel: boolean }>`
    update svc.deployments set lease_until = ${leaseEnd} where id = ${id} and lease_holder = ${lease}
    returning cancel_asked as cancel`.execute(db);
  const row = rows[0];
  if (!row) return 'lost';
  return row.cancel ? 'cancel_asked' : 'held';
}

/** Asked to stop, a copy gives back what it works on: the next begins at once, and no attempt is lost. */
export async function letGo(db: Db, { id, lease }: Claimed): Promise<void> {
  await sql`
    update svc.deployments set lease_until = now(), lease_holder = null, attempts = greatest(attempts - 1, 0)
    where id = ${id} and lease_holder = ${lease}`.execute(db);
}

/** Only of who holds the lease; undefined: somebody else does. */
export function findClaimed(db: Db, { id, lease }: Claimed): Promise<DeploymentRow | undefined> {
  return db
    .withTables<{ deployments: DeploymentRow }>()
    .selectFrom('deployments')
    .selectAll()
    .where('id', '=', id)
    .where('lease_holder', '=', lease)
    .executeTakeFirst();
}

/** Changes it as long as the lease is held and it is where it is thought to be. */
export async function saveClaimed(
  db: Db,
  { id, lease }: Claimed,
  { from, set }: { from: DeploymentState; set: Partial<DeploymentRow> },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .withTables<{ deployments: DeploymentRow }>()
    .updateTable('deployments')
    .set(set)
    .where('id', '=', id)
    .where('lease_holder', '=', lease)
    .where('state', '=', from)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
