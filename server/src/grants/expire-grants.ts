import type { MutationCtx } from '../plumbing/context.ts';
import { lockOverdueGrantRows, saveExpiry } from './store.ts';

const perRunMax = 500;

/** Writes down what reads already say. Run by the sweep, per tenant; answers how many it found. */
export async function expireGrants(ctx: MutationCtx, input: { tenantId: string }): Promise<number> {
  const rows = await lockOverdueGrantRows(ctx.db, input.tenantId, perRunMax);
  for (const row of rows) {
    await saveExpiry(ctx.db, input.tenantId, row.id, ctx.now);
    ctx.audit({
      action: 'grants.expire',
      target: { kind: 'grant', id: row.id, name: row.subject_id },
      before: { status: 'active' },
      after: { status: 'expired' },
    });
  }
  return rows.length;
}
