import { holdApp } from '../apps/hold-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { type RawDbRecord, rawDbRecord } from './rules.ts';
import { factsOf, lockRawDbRow, updateRawDbRow } from './store.ts';

/** There is no way back: database and role are dropped, and who is connected is put out. */
export async function disableRawDb(ctx: AppMutationCtx): Promise<RawDbRecord & { changed?: false }> {
  const app = await holdApp(ctx, { wanted: 'owner' });
  const target = { kind: 'raw_database', id: app.id, name: app.slug };
  const row = await lockRawDbRow(ctx.db, ctx.tenant.id, app.id);
  if (!row || row.state === 'dropping') {
    ctx.audit({ action: 'rawDb.disable', appId: app.id, target, before: {}, after: {} });
    return { ...rawDbRecord(row && factsOf(row)), changed: false };
  }
  await updateRawDbRow(ctx.db, ctx.tenant.id, app.id, { state: 'dropping' });
  ctx.audit({
    action: 'rawDb.disable',
    appId: app.id,
    target,
    before: {
      enabled: true,
      database: row.database,
      connections_max: row.connections_max,
      enabled_at: row.enabled_at,
    },
    after: null,
  });
  ctx.warn('Everything in the database is lost, its login ends, and whoever is connected is put out.');
  ctx.enqueue('rawDb.settle', { tenant_id: ctx.tenant.id, database: row.database });
  return rawDbRecord(factsOf({ ...row, state: 'dropping' }));
}
