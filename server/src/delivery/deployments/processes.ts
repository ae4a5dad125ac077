import { CompiledQuery, sql } from 'kysely';
import { lockAppFor } from '../../apps/record/app-access.ts';
import type { AppCtx, AppMutationCtx, AppRef } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { notifySql } from '../../core/invalidation.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail, validationError } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import type { LogWaits } from '../logs/log-lines.ts';
import { listAppInstances } from './instances-store.ts';
import { activityEveryMs, instanceSlots, processScales, requireDeployable, workTag } from './rules.ts';
import { findLiveDeploymentRow } from './store.ts';

export async function scaleApp(
  ctx: AppMutationCtx,
  { instances }: { instances: Readonly<Record<string, number>> },
) {
  const app = await lockAppFor(ctx, { required: 'owners' });
  const appRef = { tenantId: ctx.tenant.id, appId: app.id };
  requireDeployable(app);
  const live = await findLiveDeploymentRow(ctx.db, appRef);
  if (!live) throw fail('nothing_deployed');
  if (live.method === 'static') throw fail('nothing_deployed', { detail: 'A site has no process to scale.' });
  if (live.method === 'compose')
    throw fail('runtime_unsupported', {
      detail: 'A compose file says itself what runs, once: its containers may share volumes.',
    });
  const scales = await listScales(ctx.db, appRef);
  const before = processScales(live, scales);
  const changes = Object.entries(instances).filter(([process, count]) => {
    const known = before.find((each) => each.process === process);
    if (known) return known.instances !== count;
    const names = before.map((each) => each.process).join(', ');
    throw validationError(`instances.${process}`, `is not a process of the live deployment (${names})`);
  });
  const after = processScales(live, new Map([...scales, ...changes]));
  if (changes.length === 0) return { items: before, changed: false as const };
  for (const [process, count] of changes) await saveScale(ctx.db, appRef, { process, instances: count });
  const named = (all: typeof before) =>
    Object.fromEntries(
      all.filter(({ process }) => process in instances).map((each) => [each.process, each.instances]),
    );
  ctx.audit({
    action: 'apps.scale',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: named(before),
    after: named(after),
  });
  ctx.invalidate(appTag(app.id));
  ctx.invalidate(workTag);
  return { items: after };
}

export async function listInstances(ctx: AppCtx, query: PageQuery) {
  const appRef = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  const live = await findLiveDeploymentRow(ctx.db, appRef);
  const processes = live ? processScales(live, await listScales(ctx.db, appRef)) : [];
  const asleepSince = await findAsleepSince(ctx.db, appRef.appId);
  const running = (await listAppInstances(ctx.db, appRef)).map(({ started_at, ...row }) => ({
    ...row,
    since: started_at.toISOString(),
  }));
  const asleep =
    live && asleepSince
      ? instanceSlots(processes).map((slot) => ({
          ...slot,
          id: null,
          state: 'asleep' as const,
          since: asleepSince.toISOString(),
          memory_bytes: null,
          restarts: 0,
          deployment_id: live.id,
          deployment_seq: live.seq,
        }))
      : [];
  const serves = live ? (live.method === 'static' ? 'site' : 'process') : 'nothing';
  return {
    ...paginate(query, [...running, ...asleep]),
    processes,
    serves: serves as 'process' | 'site' | 'nothing',
  };
}

export async function keepAwake(db: Db, appId: string): Promise<void> {
  await wakeApp(db, appId);
  await recordActivity(db, [appId]);
}

export function appSleep(db: Db, waits: Pick<LogWaits, 'wait'>) {
  return {
    activityEveryMs,
    wake: (appId: string) => wakeApp(db, appId),
    waitForChange: (appId: string, ms: number) => waits.wait(appTag(appId), ms),
    recordActivity: (appIds: readonly string[]) => recordActivity(db, appIds),
  };
}

export async function listScales(db: Db, { tenantId, appId }: AppRef): Promise<Map<string, number>> {
  const { rows } = await sql<{ process: string; instances: number }>`
    select process, instances from svc.app_scales
    where tenant_id = ${tenantId} and app_id = ${appId} order by process`.execute(db);
  return new Map(rows.map(({ process, instances }) => [process, instances]));
}

async function saveScale(
  tx: Tx,
  { tenantId, appId }: AppRef,
  { process, instances }: { process: string; instances: number },
): Promise<void> {
  await sql`
    insert into svc.app_scales (app_id, tenant_id, process, instances)
    values (${appId}, ${tenantId}, ${process}, ${instances})
    on conflict (app_id, process) do update set instances = excluded.instances`.execute(tx);
}

export async function deleteScales(tx: Tx, { tenantId, appId }: AppRef, processes: readonly string[]) {
  await sql`
    delete from svc.app_scales
    where tenant_id = ${tenantId} and app_id = ${appId} and process = any(${[...processes]}::text[])`.execute(
    tx,
  );
}

export async function resetActivity(tx: Tx, appId: string, { canSleep }: { canSleep: boolean }) {
  if (canSleep)
    await sql`
      insert into svc.app_activity (app_id, last_active_at) values (${appId}, now())
      on conflict (app_id) do update set last_active_at = now(), asleep_since = null`.execute(tx);
  else await sql`delete from svc.app_activity where app_id = ${appId}`.execute(tx);
}

async function findAsleepSince(db: Db, appId: string): Promise<Date | null> {
  const { rows } = await sql<{ since: Date | null }>`
    select asleep_since as since from svc.app_activity where app_id = ${appId}`.execute(db);
  return rows[0]?.since ?? null;
}

async function recordActivity(db: Db, appIds: readonly string[]): Promise<void> {
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

export async function wakeApp(db: Db, appId: string): Promise<void> {
  const { numAffectedRows } = await sql`
    update svc.app_activity set asleep_since = null, last_active_at = now()
    where app_id = ${appId} and asleep_since is not null`.execute(db);
  if ((numAffectedRows ?? 0n) > 0n) await db.executeQuery(CompiledQuery.raw(notifySql, [workTag]));
}
