import type { AuditedChange } from '../plumbing/context.ts';
import { makePlan, type RunValues } from '../plumbing/plan.ts';
import { jsonAnswer, type RowsCtx } from './context.ts';

/** What a write would do, in the form of every other preview. */
export function previewAnswer(
  ctx: RowsCtx,
  operation: { id: string; irreversible: boolean },
  change: { id: string; before: Record<string, unknown> | null; after: Record<string, unknown> | null },
  run: RunValues = { ids: new Set(), now: new Date(0) },
) {
  const { catalogue } = ctx.table;
  const audited: AuditedChange = {
    action: operation.id,
    target: { kind: 'row', id: change.id, name: `${ctx.app.slug}/${catalogue.name}` },
    before: change.before,
    after: change.after,
  };
  return jsonAnswer(200, JSON.stringify({ dry_run: true, plan: makePlan(operation, [audited], [], run) }));
}
