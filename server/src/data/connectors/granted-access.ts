import { type findConnectorRow, listConnectorsOfApp } from '../../access/connectors/connectors.ts';
import type { loadActiveGrants } from '../../access/grants/grants.ts';
import { loadEnforcedPolicies, loadPolicies, type PolicyRow } from '../../access/policies/policies.ts';
import { listRolesOf } from '../../apps/roles/roles.ts';
import type { Caller, TenantAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { listGroupsOf } from '../../people/groups/groups.ts';
import { loadMemberAttributes } from '../../people/tenants/member-attributes.ts';
import type { Alternative } from '../rows/access.ts';
import { grantAlternative } from '../rows/decide.ts';
import { fitPolicies } from '../rows/policies.ts';
import type { TableCatalogue } from '../tables/catalogue.ts';
import type { Me } from '../tables/conditions.ts';

type ConnectorRow = NonNullable<Awaited<ReturnType<typeof findConnectorRow>>>;
export type ActiveGrant = Awaited<ReturnType<typeof loadActiveGrants>>[number];

export interface GrantFacts {
  me: Me;
  policies: readonly PolicyRow[];
  enforced: readonly PolicyRow[];
}

type ConnectorApp = Pick<ConnectorRow, 'app_id'>;

/** The same as at the app's own tables: whoever reads them by a connector does not leave their roles behind. */
export async function rolesAt(
  db: Db,
  { id: tenantId }: TenantAccess,
  userId: string,
  { app_id: appId }: ConnectorApp,
): Promise<Me['roles']> {
  return appId === null ? null : listRolesOf(db, { tenantId, appId }, userId);
}

export async function loadMe(
  db: Db,
  tenant: TenantAccess,
  { userId, email }: Pick<Caller, 'userId' | 'email'>,
  connector: ConnectorApp,
): Promise<Me> {
  return {
    id: userId,
    email,
    roles: await rolesAt(db, tenant, userId, connector),
    groups: await listGroupsOf(db, tenant.id, userId),
    attributes: await loadMemberAttributes(db, tenant.id, userId),
  };
}

export async function loadGrantFacts(
  db: Db,
  tenant: TenantAccess,
  me: Me,
  grants: readonly ActiveGrant[],
): Promise<GrantFacts> {
  const policyIds = new Set(grants.flatMap((grant) => grant.policyIds));
  return {
    me,
    policies: await loadPolicies(db, tenant.id, [...policyIds]),
    enforced: await loadEnforcedPolicies(db, tenant.id),
  };
}

/** A second connector of an app does not lead around the policies of the first. */
export async function listSiblingIds(
  db: Db,
  { id: tenantId }: TenantAccess,
  { id, app_id: appId }: Pick<ConnectorRow, 'id' | 'app_id'>,
): Promise<string[]> {
  return appId === null ? [id] : (await listConnectorsOfApp(db, { tenantId, appId })).map((each) => each.id);
}

/** `grants` are those that cover the table. Fails if a policy does not fit it. */
export function grantAlternatives(
  { me, policies, enforced }: GrantFacts,
  grants: readonly ActiveGrant[],
  table: {
    connector: { id: string; slug: string };
    siblingIds: readonly string[];
    path: string;
    catalogue: TableCatalogue;
  },
): Alternative[] {
  const { connector, siblingIds, path, catalogue } = table;
  const fit = (found: readonly PolicyRow[], connectorIds: readonly string[] = [connector.id]) =>
    fitPolicies(found, { connectorIds, path, catalogue, me });
  const forAll = fit(enforced, siblingIds);
  return grants.map((grant) =>
    grantAlternative(catalogue, {
      id: grant.id,
      text: `a grant of ${connector.slug}`,
      actions: grant.actions,
      policies: [...fit(policies.filter(({ id }) => grant.policyIds.includes(id))), ...forAll],
    }),
  );
}
