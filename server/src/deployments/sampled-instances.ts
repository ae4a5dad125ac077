import { sql } from 'kysely';
import type { InstanceRef } from '../drivers/runtime/runtime.ts';
import type { Db } from '../plumbing/db.ts';

/** An instance that this copy of the server is to look at now. */
export interface Sampled extends InstanceRef {
  appId: string;
  /** Of this very look: what comes after another began does not count. */
  look: string;
}

/** Shorter than the time between two looks, so that none is left out. */
const apartSeconds = 8;

/** Several copies may share an engine: each instance is looked at by one of them at a time. */
export async function claimSamples(db: Db, node: string): Promise<Sampled[]> {
  const { rows } = await sql<Sampled>`
    update svc.app_instances set sampled_at = clock_timestamp()
    where id in (select id from svc.app_instances
      where node = ${node} and handle is not null
        and (sampled_at is null or sampled_at < clock_timestamp() - make_interval(secs => ${apartSeconds}))
      for update skip locked)
    returning id as "instanceId", handle, app_id as "appId", sampled_at::text as look`.execute(db);
  return rows;
}

/**
 * How much more processor time it is than was counted before, by whichever copy; null: another look counts. One that
 * was started again counts from nothing.
 */
export async function countCpu(
  db: Db,
  { instanceId, look }: Pick<Sampled, 'instanceId' | 'look'>,
  cpuMs: number,
): Promise<number | null> {
  const { rows } = await sql<{ more: number }>`
    update svc.app_instances i set cpu_ms = ${Math.round(cpuMs)}
    from (select id, cpu_ms from svc.app_instances
      where id = ${instanceId} and sampled_at = ${look}::timestamptz for update) before
    where i.id = before.id
    returning (case when i.cpu_ms >= before.cpu_ms then i.cpu_ms - before.cpu_ms else i.cpu_ms end)::float8 as more`.execute(
    db,
  );
  return rows[0]?.more ?? null;
}
