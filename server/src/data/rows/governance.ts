import { type findConnectorRow, listConnectorsOfApp } from '../../access/connectors/connectors.ts';
import { loadActiveGrants, loadActiveGrantsOf } from '../../access/grants/grants.ts';
import { isInScope } from '../../access/grants/rules.ts';
import { loadEnforcedPolicies, loadPolicies, type PolicyRow } from '../../access/policies/policies.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import type { AppAccess, Caller } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { Me } from '../tables/caller-values.ts';
import type { TableCatalogue } from '../tables/catalogue.ts';
import type { Access, FittingPolicy } from './access.ts';
import type { GrantFacts, OwnApp } from './decide.ts';
import type { GovernedTable } from './governed-read.ts';
import { fitPolicies } from './policies.ts';

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

export type Governance = ReturnType<typeof governanceOf>;

/** What connectors of an app's tables bring to the tables themselves: grants that open them, and enforced policies. */
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
    /** When the first of the grants ends. */
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
