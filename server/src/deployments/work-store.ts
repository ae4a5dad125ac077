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
  isToBeBuilt: boolean;
}

/** What takes the machine's cores: source, and the files of a site, which are only where they were built. */
const isToBeBuilt = sql<boolean>`d.source <> 'artifact' and (d.method = 'static' or d.state in ('queued', 'building'))`;

const leaseEnd = sql<Date>`now() + make_interval(secs => ${leaseMs / 1_000})`;

/**
 * The one that waits longest for whoever carries it out: because it is new, or because who did is silent. Those of who
 * has fewer under way go first: one tenant's many do not keep the others waiting.
 */
export async function claimDeployment(
  db: Db,
  { wanted, notOf }: { wanted: 'all' | 'built'; notOf: readonly string[] },
): Promise<Claimed | null> {
  const lease = Bun.randomUUIDv7();
  try {
    const { rows } = await sql<Omit<Claimed, 'lease'>>`
      update svc.deployments d set
        state = case d.state when 'queued' then 'building' else d.state end,
        attempts = d.attempts + 1, lease_holder = ${lease}, lease_until = ${leaseEnd},
        started_at = coalesce(d.started_at, now())
      where d.id = (
        select d.id from svc.deployments d
        where d.ended_at is null and (
          d.state = 'queued' and not exists (
            select from svc.deployments o
            where o.app_id = d.app_id and o.state in ('building', 'built', 'releasing') and o.ended_at is null)
          or d.state in ('building', 'built', 'releasing') and d.lease_until < now())
          and d.tenant_id <> all(${notOf}::uuid[])
          and (${wanted} = 'all' or not (${isToBeBuilt}))
        order by (
          select count(*) from svc.deployments o
          where o.tenant_id = d.tenant_id and o.id <> d.id
            and o.state in ('building', 'built', 'releasing') and o.ended_at is null), d.created_at
        limit 1 for update skip locked)
      returning d.id, d.tenant_id as "tenantId", d.app_id as "appId", (${isToBeBuilt}) as "isToBeBuilt"`.execute(
      db,
    );
    const row = rows[0];
    return row ? { ...row, lease } : null;
  } catch (error) {
    // Another copy has begun with one of the same app this very moment.
    if (sqlState(error) === '23505') return null;
    throw error;
  }
}

/** One that waits, or that somebody works on who may fall silent. */
export async function isAnyOpen(db: Db): Promise<boolean> {
  const { rows } = await sql`select from svc.deployments where ended_at is null limit 1`.execute(db);
  return rows.length > 0;
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
