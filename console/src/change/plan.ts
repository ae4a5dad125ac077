import type { Plan } from '@svc/contract/plan.ts';

export function mergePlans(plans: readonly Plan[]): Plan {
  const [first] = plans;
  if (!first) throw new Error('There is nothing to change.');
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

const destructiveVerbs = /archive|delete|purge|remove|revoke|suspend|disable|disconnect|unpublish|drop/i;

export function isDestructive({ operation, changes, irreversible }: Plan): boolean {
  return (
    irreversible || destructiveVerbs.test(operation) || changes.some(({ effect }) => effect === 'delete')
  );
}
