import { CompiledQuery, sql } from 'kysely';
import type { AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { notifySql } from '../../core/invalidation.ts';
import { activityEveryMs, workTag } from './rules.ts';

/** Instances by process, as `svc apps scale` has set them. */
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
    delete from svc.app_scales
    where tenant_id = ${tenantId} and app_id = ${appId} and process = any(${[...processes]}::text[])`.execute(
    tx,
  );
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

/** Apps had a request or an open connection. */
export async function recordActivity(db: Db, appIds: readonly string[]): Promise<void> {
  await sql`
    update svc.app_activity set last_active_at = now() where app_id = any(${[...appIds]}::uuid[])`.execute(
    db,
  );
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
