import type { Plan } from '@svc/contract/plan.ts';

/** Plans of the same operation as one: what each does is named by its target. A single one stays as it is. */
export function mergePlans(plans: readonly Plan[]): Plan {
  const [first] = plans;
  if (!first) throw new Error('There is nothing to be changed.');
  if (plans.length === 1) return first;
  return {
    operation: first.operation,
    target: { kind: first.target.kind, id: '', name: '' },
    changes: plans.flatMap(({ target, changes }) =>
      changes.map((change) => ({ ...change, path: `${target.name} · ${change.path}` })),
    ),
    warnings: plans.flatMap(({ target, warnings }) =>
      warnings.map((warning) => `${target.name}: ${warning}`),
    ),
    irreversible: plans.some(({ irreversible }) => irreversible),
    fingerprint: plans.map(({ fingerprint }) => fingerprint).join(' '),
  };
}
