import { type Condition, FilterError, parseRowFilter } from '@svc/contract/filter.ts';
import { type findConnectorRow, listConnectorsOfApp } from '../../access/connectors/connectors.ts';
import { loadActiveGrants, loadActiveGrantsOf } from '../../access/grants/grants.ts';
import { covers, isInScope } from '../../access/grants/rules.ts';
import { loadEnforcedPolicies, loadPolicies, type PolicyRow } from '../../access/policies/policies.ts';
import { maskArgsProblem } from '../../access/policies/rules.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import type { AppAccess, Caller } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { Failure, fail } from '../../core/problem.ts';
import type { TableCatalogue } from '../tables/catalogue.ts';
import {
  allOf,
  emptyLists,
  type FindColumn,
  type Me,
  missingAttributes,
  never,
  type PlannedCondition,
  planCondition,
  withCallerValues,
  withoutCallerValues,
} from '../tables/conditions.ts';
import type { Access, FittingPolicy } from './access.ts';
import type { GrantFacts, OwnApp } from './decide.ts';
import type { GovernedTable } from './governed-read.ts';
import { type Mask, maskProblem } from './masks.ts';
import { requireCatalogueColumn } from './row-table.ts';

export function appliesTo(
  { enabled, connector_id, resource_path }: PolicyRow,
  { connectorId, path }: { connectorId: string; path: string },
): boolean {
  const isOfConnector = connector_id === null || connector_id === connectorId;
  return enabled && isOfConnector && (resource_path === '' || covers(resource_path, path));
}

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

type ConnectorRow = NonNullable<Awaited<ReturnType<typeof findConnectorRow>>>;
type ActiveGrant = Awaited<ReturnType<typeof loadActiveGrants>>[number];

interface Governed {
  tenantId: string;
  app: Pick<AppAccess, 'id' | 'slug'>;
  connectors: readonly ConnectorRow[];
  grants: readonly ActiveGrant[];
  policies: readonly PolicyRow[];
  enforced: readonly PolicyRow[];
  me: Me;
}

type Governance = ReturnType<typeof governanceOf>;

/** Loads grants and enforced policies of the connectors of an app's tables. */
export async function loadGovernance(
  db: Db,
  { tenantId, app, caller, me }: Pick<Governed, 'tenantId' | 'app' | 'me'> & { caller: Caller },
): Promise<Governance | null> {
  const connectors = await listConnectorsOfApp(db, { tenantId, appId: app.id });
  if (connectors.length === 0) return null;
  const isOfConnectors = ({ connectorId }: ActiveGrant) => connectors.some(({ id }) => id === connectorId);
  // An app does not get the grants of the people who use it.
  const grants =
    caller.throughApp === undefined
      ? (await loadCallerGrants(db, tenantId, caller)).filter(isOfConnectors)
      : [];
  const policyIds = [...new Set(grants.flatMap((grant) => grant.policyIds))];
  const policies = policyIds.length > 0 ? await loadPolicies(db, tenantId, policyIds) : [];
  const enforced = await loadEnforcedPolicies(db, tenantId);
  return governanceOf({ tenantId, app, connectors, grants, policies, enforced, me });
}

export function loadCallerGrants(db: Db, tenantId: string, { kind, userId }: Caller): Promise<ActiveGrant[]> {
  return kind === 'app' || kind === 'service_account'
    ? loadActiveGrantsOf(db, tenantId, { kind, id: userId })
    : loadActiveGrants(db, tenantId, userId);
}

/** Programs of an app that is suspended or archived change nothing. Null for people. */
export async function loadOwnApp(db: Db, { ownApp }: Pick<Caller, 'ownApp'>): Promise<OwnApp | null> {
  if (!ownApp) return null;
  const app = await findAppById({ db }, { id: ownApp.appId });
  return { id: ownApp.appId, canWrite: app?.record === 'active' && app.runtime !== 'suspended' };
}

function governanceOf({ tenantId, app, connectors, grants, policies, enforced, me }: Governed) {
  const pathOf = ({ name }: Pick<TableCatalogue, 'name'>) => `${app.slug}/${name}`;
  const inScope = (catalogue: TableCatalogue) =>
    grants.filter(({ scope }) => isInScope(scope, pathOf(catalogue)));
  const fit = (found: readonly PolicyRow[], catalogue: TableCatalogue, connectorIds: readonly string[]) =>
    fitPolicies(found, { connectorIds, path: pathOf(catalogue), catalogue, me });
  return {
    /** The first failure of a policy that does not fit is the answer of every call. */
    grantsOn(catalogue: TableCatalogue): GrantFacts[] {
      return inScope(catalogue).map(({ id, connectorId, actions, policyIds }) => {
        const connector = connectors.find((each) => each.id === connectorId);
        const named = policies.filter((policy) => policyIds.includes(policy.id));
        return {
          id,
          text: `a grant of ${connector?.slug}`,
          actions: connector?.writable ? actions : actions.filter((action) => readActions.includes(action)),
          policies: fit(named, catalogue, [connectorId]),
        };
      });
    },
    enforcedOn(catalogue: TableCatalogue): FittingPolicy[] {
      return fit(
        enforced,
        catalogue,
        connectors.map(({ id }) => id),
      );
    },
    until(catalogue: TableCatalogue): number {
      return Math.min(...inScope(catalogue).map(({ expiresAt }) => expiresAt?.getTime() ?? Infinity));
    },
    /** Null where neither a grant nor a policy decides: such reads are the app's own business. */
    governed(catalogue: TableCatalogue, { alternatives }: Access): GovernedTable | null {
      const sources = alternatives.flatMap(({ because }) => because);
      const isGoverned = sources.some(({ kind }) => kind === 'grant' || kind === 'policy');
      const grant = grants.find(({ id }) => sources.some((source) => source.id === id));
      const connectorId = grant?.connectorId ?? connectors[0]?.id;
      if (!isGoverned || connectorId === undefined) return null;
      return { tenantId, connectorId, appId: app.id, path: pathOf(catalogue) };
    },
  };
}

const readActions: readonly string[] = ['read', 'export'];
