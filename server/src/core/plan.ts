import type { Plan, PlanChange } from '@svc/contract/plan.ts';
import type { AuditedChange } from './context.ts';
import { canonicalJson, sha256 } from './values.ts';

export const assignedOnExecution = '(assigned on execution)';
export const timeOfExecution = '(time of execution)';

interface RunValues {
  ids: ReadonlySet<string>;
  now: Date;
}

/** Values of one run are masked, so that two previews of the same change have the same fingerprint. */
export function makePlan(
  operation: { id: string; irreversible: boolean },
  changes: readonly AuditedChange[],
  warnings: readonly string[],
  run: RunValues,
): Plan {
  const masked = changes.map((change) => maskRunValues(change, run) as AuditedChange);
  const first = masked[0];
  // The masked ids of several new things are the same.
  const isOtherTarget = ({ target: { kind, id, name } }: AuditedChange) =>
    kind !== first?.target.kind ||
    id !== first.target.id ||
    (id === assignedOnExecution && name !== first.target.name);
  const prefix = ({ target: { kind, name } }: AuditedChange) =>
    kind === first?.target.kind ? `${kind} ${name}` : kind;
  const plan = {
    operation: operation.id,
    target: first?.target ?? { kind: '', id: '', name: '' },
    changes: masked.flatMap((change) =>
      fieldChanges(change).map((item) =>
        isOtherTarget(change) ? { ...item, path: `${prefix(change)}.${item.path}` } : item,
      ),
    ),
    warnings: [...warnings],
    irreversible: operation.irreversible,
  };
  return { ...plan, fingerprint: sha256(canonicalJson(plan)).slice(0, 32) };
}

export function fieldChanges({ before, after }: Pick<AuditedChange, 'before' | 'after'>): PlanChange[] {
  const effect = before === null ? 'create' : after === null ? 'delete' : 'update';
  return [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
    .map((path) => ({ path, before: before?.[path] ?? null, after: after?.[path] ?? null, effect }) as const)
    .filter((change) => effect !== 'update' || canonicalJson(change.before) !== canonicalJson(change.after));
}

function maskRunValues(value: unknown, run: RunValues): unknown {
  if (typeof value === 'string') {
    if (run.ids.has(value)) return assignedOnExecution;
    return value === run.now.toISOString() ? timeOfExecution : value;
  }
  if (value instanceof Date) return maskRunValues(value.toISOString(), run);
  if (Array.isArray(value)) return value.map((item) => maskRunValues(item, run));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskRunValues(item, run)]));
}
