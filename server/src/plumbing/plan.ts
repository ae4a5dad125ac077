import type { Plan, PlanChange } from '@svc/contract/plan.ts';
import { canonicalJson, sha256 } from './canonical.ts';
import type { AuditedChange } from './context.ts';

export const assignedOnExecution = '(assigned on execution)';
export const timeOfExecution = '(time of execution)';

/** What one run of a verb made up by itself, and another run makes up anew: ids, the time, generated secrets. */
export interface RunValues {
  ids: ReadonlySet<string>;
  now: Date;
}

/**
 * The plan is what the verb recorded for the audit while it ran in a transaction that is rolled back, so it can't
 * differ from what an execution does. Values of that one run are replaced by words, so that two previews of the
 * same change have the same fingerprint.
 */
export function makePlan(
  operation: { id: string; irreversible: boolean },
  changes: readonly AuditedChange[],
  warnings: readonly string[],
  run: RunValues,
): Plan {
  const settled = changes.map((change) => withoutRunValues(change, run) as AuditedChange);
  const first = settled[0];
  // Paths are told apart by their kind where a change is about something else than the plan is.
  const isElsewhere = ({ target }: AuditedChange) =>
    target.kind !== first?.target.kind || target.id !== first.target.id;
  const plan = {
    operation: operation.id,
    target: first?.target ?? { kind: '', id: '', name: '' },
    changes: settled.flatMap((change) =>
      changesOf(change).map((item) =>
        isElsewhere(change) ? { ...item, path: `${change.target.kind}.${item.path}` } : item,
      ),
    ),
    warnings: [...warnings],
    irreversible: operation.irreversible,
  };
  return { ...plan, fingerprint: sha256(canonicalJson(plan)).slice(0, 32) };
}

/** Field by field; a field that stays as it is, is no change. */
export function changesOf({ before, after }: Pick<AuditedChange, 'before' | 'after'>): PlanChange[] {
  const effect = before === null ? 'create' : after === null ? 'delete' : 'update';
  const paths = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  return paths
    .map((path) => ({ path, before: before?.[path] ?? null, after: after?.[path] ?? null, effect }) as const)
    .filter((change) => effect !== 'update' || canonicalJson(change.before) !== canonicalJson(change.after));
}

function withoutRunValues(value: unknown, run: RunValues): unknown {
  if (typeof value === 'string') {
    if (run.ids.has(value)) return assignedOnExecution;
    return value === run.now.toISOString() ? timeOfExecution : value;
  }
  if (value instanceof Date) return withoutRunValues(value.toISOString(), run);
  if (Array.isArray(value)) return value.map((item) => withoutRunValues(item, run));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutRunValues(item, run)]));
}
