import { sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';
import { leaseSeconds } from './rules.ts';

/** Which run, and by which claim: who has lost it changes nothing any more. */
export interface Claim {
  tenantId: string;
  runId: string;
  holder: string;
}

/** One that nobody works on and whose time has come; of whichever tenant, for the copy that asks. */
export async function claimRun(db: Db): Promise<Claim | null> {
  const { rows } = await sql<Claim>`
    update svc.bootstrap_runs set lease_holder = ${Bun.randomUUIDv7()},
      lease_until = now() + make_interval(secs => ${leaseSeconds}), next_try_at = null
    where id = (
      select id from svc.bootstrap_runs
      where state = 'running' and (lease_until is null or lease_until < now())
        and (next_try_at is null or next_try_at <= now())
      order by next_try_at nulls first, created_at limit 1 for update skip locked)
    returning tenant_id as "tenantId", id as "runId", lease_holder as "holder"`.execute(db);
  return rows[0] ?? null;
}

/** One that waits, or that somebody works on who may fall silent. Those that await approval may be late in giving up. */
export async function isAnyOpen(db: Db): Promise<boolean> {
  const { rows } = await sql`select from svc.bootstrap_runs where state = 'running' limit 1`.execute(db);
  return rows.length > 0;
}

export async function renewClaim(db: Db, { tenantId, runId, holder }: Claim): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update svc.bootstrap_runs set lease_until = now() + make_interval(secs => ${leaseSeconds})
    where tenant_id = ${tenantId} and id = ${runId} and lease_holder = ${holder} and state = 'running'`.execute(
    db,
  );
  return numAffectedRows === 1n;
}

/** Lets go of it, to be claimed again after so many seconds. */
export async function releaseClaim(
  db: Db,
  { tenantId, runId, holder }: Claim,
  { afterSeconds }: { afterSeconds: number },
): Promise<void> {
  await sql`
    update svc.bootstrap_runs set lease_holder = null, lease_until = null,
      next_try_at = now() + make_interval(secs => ${afterSeconds})
    where tenant_id = ${tenantId} and id = ${runId} and lease_holder = ${holder}`.execute(db);
}

/** Runs whose code was denied, or that nobody approved in time; of whichever tenant. */
export async function listUnapprovedRuns(db: Db): Promise<{ id: string; tenant_id: string }[]> {
  const { rows } = await sql<{ id: string; tenant_id: string }>`
    select id, tenant_id from svc.bootstrap_runs
    where state = 'awaiting_approval' and (is_denied or approval_until < now()) limit 100`.execute(db);
  return rows;
}
