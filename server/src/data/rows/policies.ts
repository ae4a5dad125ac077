import { type Condition, FilterError, parseRowFilter } from '@svc/contract/filter.ts';
import { covers } from '../../access/grants/rules.ts';
import type { PolicyRow } from '../../access/policies/policies.ts';
import { maskArgsProblem } from '../../access/policies/rules.ts';
import { Failure, fail } from '../../core/problem.ts';
import {
  emptyLists,
  type Me,
  missingAttributes,
  withCallerValues,
  withoutCallerValues,
} from '../tables/caller-values.ts';
import type { TableCatalogue } from '../tables/catalogue.ts';
import { allOf, type FindColumn, never, type PlannedCondition, planCondition } from '../tables/conditions.ts';
import type { FittingPolicy } from './access.ts';
import { type Mask, maskProblem } from './masks.ts';
import { requireCatalogueColumn } from './row-table.ts';

export function appliesTo(
  { enabled, connector_id, resource_path }: PolicyRow,
  { connectorId, path }: { connectorId: string; path: string },
): boolean {
  const isOfConnector = connector_id === null || connector_id === connectorId;
  return enabled && isOfConnector && (resource_path === '' || covers(resource_path, path));
}

/** Those that apply to a table, at one of its connectors. */
export function fitPolicies(
  policies: readonly PolicyRow[],
  { connectorIds, path, catalogue, me }: PolicyTarget,
): FittingPolicy[] {
  return policies
    .filter((policy) => connectorIds.some((connectorId) => appliesTo(policy, { connectorId, path })))
    .map((policy) => fitPolicy(policy, catalogue, me));
}

interface PolicyTarget {
  connectorIds: readonly string[];
  path: string;
  catalogue: TableCatalogue;
  me: Me;
}

/** Fails if the policy names what the table does not have: it never lets more through than it says. */
export function fitPolicy(policy: PolicyRow, catalogue: TableCatalogue, me: Me): FittingPolicy {
  const { mode, names } = policy.columns;
  const find = (name: string) => requireCatalogueColumn(catalogue, name);
  const masks = new Map<string, Mask>(policy.masks.map(({ column, kind, args }) => [column, { kind, args }]));
  const isVisible = (name: string) =>
    mode === 'all' || (mode === 'allow' ? names.includes(name) : !names.includes(name));
  try {
    for (const name of [...names, ...masks.keys()]) find(name);
    for (const [name, mask] of masks) {
      const problem = maskArgsProblem(mask) ?? maskProblem(mask, find(name).type);
      if (problem) throw fail('policy_unresolvable', { detail: problem });
    }
    const conditions = parseRowFilter(policy.row_filter);
    for (const condition of conditions) planCondition(find, withoutCallerValues(condition));
    const keys = catalogue.foreign?.keys ?? [];
    // The key that orders rows is made of these columns: it is as visible as all of them.
    const isKeyClear = (keys.length > 0 ? keys : catalogue.columns).every(
      ({ name }) => name === '' || (isVisible(name) && !masks.has(name)),
    );
    return {
      source: { kind: 'policy', id: policy.id, text: policy.name },
      actions: policy.actions,
      where: planFilter(find, conditions, me),
      isVisible: (name) => (name === '' ? isKeyClear : isVisible(name)),
      masks,
      missing: missingAttributes(conditions, me),
      emptyLists: emptyLists(conditions, me),
    };
  } catch (cause) {
    if (!(cause instanceof Failure || cause instanceof FilterError)) throw cause;
    throw fail(
      'policy_unresolvable',
      { detail: `The policy “${policy.name}” does not fit the table any more. An admin must update it.` },
      { cause },
    );
  }
}

/** False without a value of the caller, or with one that does not fit its column. */
function planFilter(find: FindColumn, conditions: readonly Condition[], me: Me): PlannedCondition {
  const filter = withCallerValues(conditions, me, (name) => find(name).type === 'uuid');
  if (!filter) return never;
  try {
    return allOf(filter.map((condition) => planCondition(find, condition)));
  } catch (error) {
    if (error instanceof Failure) return never;
    throw error;
  }
}
