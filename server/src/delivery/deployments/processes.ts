import { lockAppFor } from '../../apps/record/app-access.ts';
import type { AppCtx, AppMutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail, validationError } from '../../core/problem.ts';
import { appTag } from '../../core/tags.ts';
import type { LogWaits } from '../logs/log-lines.ts';
import {
  findAsleepSince,
  listAppInstances,
  listScales,
  recordActivity,
  saveScale,
  wakeApp,
} from './instances-store.ts';
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
