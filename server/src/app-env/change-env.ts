import { holdApp } from '../apps/hold-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { openValues, sealValue } from './env-value.ts';
import { type EnvRecord, envRecords, type ListedPlaces } from './list-env.ts';
import { auditedChanges, changesOf, type EnvWish, refuseArchived, refuseTooMany } from './rules.ts';
import { deleteEnvRow, listEnvRows, putEnvRow } from './store.ts';

/** What runs goes on with what it has: the next deployment takes these. */
export async function changeEnv(
  ctx: AppMutationCtx,
  wish: EnvWish,
  places: ListedPlaces,
): Promise<{ items: EnvRecord[]; changed?: false }> {
  const app = await holdApp(ctx, { wanted: 'owners' });
  refuseArchived(app);
  const place = { tenantId: ctx.tenant.id, appId: app.id };
  const there = await openValues(ctx.db, await listEnvRows(ctx.db, place));
  const changes = changesOf(there, wish);
  refuseTooMany(there, changes);
  for (const name of [...changes.added, ...changes.changed]) {
    await putEnvRow(ctx.db, {
      ...{ app_id: app.id, tenant_id: place.tenantId, name },
      value_sealed: await sealValue(ctx.db, { appId: app.id, name, value: wish.set[name] ?? '' }),
      ...{ updated_by: ctx.caller.userId, updated_at: ctx.now },
    });
  }
  for (const name of changes.removed) await deleteEnvRow(ctx.db, place, name);
  ctx.audit({
    action: 'env.change',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    ...auditedChanges(changes),
  });
  const isChanged = Object.values(changes).some((names) => names.length > 0);
  const items = await envRecords(ctx.db, places, place);
  return isChanged ? { items } : { items, changed: false };
}
