import {
  connectorTarget,
  findConnectorRow,
  listConnectorsOfApp,
} from '../../access/connectors/connectors.ts';
import { loadActiveGrants } from '../../access/grants/grants.ts';
import { isInScope } from '../../access/grants/rules.ts';
import { loadEnforcedPolicies, loadPolicies, type PolicyRow } from '../../access/policies/policies.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import type { TaggedCache } from '../../core/cache.ts';
import type { Caller, TenantAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { LiveKey } from '../../core/keys.ts';
import { appTag, credentialTag, governanceTag, tableTag, userTag } from '../../core/tags.ts';
import type { ConnectorDatabases } from '../../drivers/connectors/databases.ts';
import { listGroupIdsOf } from '../../people/groups/groups.ts';
import { loadMemberAttributes } from '../../people/tenants/member-attributes.ts';
import { type Alternative, combine } from '../rows/access.ts';
import type { RowsPath } from '../rows/context.ts';
import { grantAlternative, hasParts } from '../rows/decide.ts';
import { appliesTo, fitPolicy } from '../rows/policies.ts';
import { callerTables, type TableAccess } from '../rows/table-access.ts';
import type { Me } from '../tables/caller-values.ts';
import type { TableCatalogue } from '../tables/catalogue.ts';
import { loadCatalogue } from '../tables/load-catalogue.ts';
import { foreignCatalogue } from './foreign-catalogue.ts';
import { findConnectorTable } from './store.ts';

type ConnectorRow = NonNullable<Awaited<ReturnType<typeof findConnectorRow>>>;
type TableRef = Pick<RowsPath, 'tenant' | 'app' | 'table' | 'schema'>;

interface ConnectorAccessDeps {
  db: Db;
  now: () => Date;
  maskKey: LiveKey<string>;
  cache: TaggedCache<TableAccess>;
  tenantAccess: (ref: string, caller: Caller) => Promise<TenantAccess | null>;
  connectorDatabases: ConnectorDatabases;
}

export function createConnectorAccess(deps: ConnectorAccessDeps) {
  const cacheKey = (caller: Caller, { tenant, app, schema, table }: TableRef) =>
    JSON.stringify([caller.credentialId, tenant, app, schema, table]);
  return {
    /** Null both when the table does not exist and when no grant opens it. */
    async resolve(caller: Caller, ref: TableRef): Promise<TableAccess | null> {
      const key = cacheKey(caller, ref);
      const load = () => resolveConnectorAccess(deps, caller, ref);
      const found = await deps.cache.get(key, load);
      if (!found || found.until > deps.now().getTime()) return found;
      deps.cache.delete(key);
      return deps.cache.get(key, load);
    },
    invalidate: (caller: Caller, ref: TableRef): void => deps.cache.delete(cacheKey(caller, ref)),
  };
}

async function resolveConnectorAccess(deps: ConnectorAccessDeps, caller: Caller, ref: TableRef) {
  const { db } = deps;
  const { userId, scope, throughApp } = caller;
  const tenant = await deps.tenantAccess(ref.tenant, caller);
  // Grants are of people: neither an app nor a token for certain apps uses them.
  if (
    !tenant ||
    throughApp !== undefined ||
    (scope && (scope.tenantId !== tenant.id || scope.apps.length > 0))
  )
    return null;
  const row = isText(ref.app) ? await findConnectorRow(db, tenant.id, ref.app) : undefined;
  if (!row) return null;
  const path = `${ref.schema}/${ref.table}`;
  const grants = (await loadActiveGrants(db, tenant.id, userId)).filter(
    (grant) => grant.connectorId === row.id && isInScope(grant.scope, path),
  );
  if (grants.length === 0) return null;
  const source = await openSource(deps, tenant, row, ref);
  if (!source) return null;
  const { catalogue } = source;
  const me = await loadMe(db, tenant, caller);
  const policies = await loadPolicies(db, tenant.id, [
    ...new Set(grants.flatMap(({ policyIds }) => policyIds)),
  ]);
  const fit = (found: readonly PolicyRow[], connectorIds = [row.id]) =>
    found
      .filter((policy) => connectorIds.some((connectorId) => appliesTo(policy, { connectorId, path })))
      .map((policy) => fitPolicy(policy, catalogue, me));
  // A second connector of an app does not lead around the policies of the first.
  const siblings =
    row.app_id === null ? [row] : await listConnectorsOfApp(db, { tenantId: tenant.id, appId: row.app_id });
  const enforced = fit(
    await loadEnforcedPolicies(db, tenant.id),
    siblings.map(({ id }) => id),
  );
  const alternatives = grants.map((grant) =>
    grantAlternative(catalogue, {
      id: grant.id,
      text: `a grant of ${row.slug}`,
      actions: grant.actions,
      policies: [...fit(policies.filter(({ id }) => grant.policyIds.includes(id))), ...enforced],
    }),
  );
  const usable = alternatives.map((alternative) => limit(alternative, caller, row)).filter(hasParts);
  const access = combine(usable);
  if (!access) return null;
  const ends = grants.flatMap(({ expiresAt }) => (expiresAt ? [expiresAt.getTime()] : []));
  const value: TableAccess = {
    ...source,
    access,
    governed: {
      tenantId: tenant.id,
      connectorId: row.id,
      appId: row.kind === 'tables' ? row.app_id : null,
      path,
    },
    isReadOnly: !row.writable && alternatives.some(({ changes }) => Object.keys(changes).length > 0),
    until: Math.min(...ends),
    ...callerTables(catalogue, access, deps.maskKey.current()),
  };
  const ofApp = row.kind === 'tables' ? [appTag(source.app.id), tableTag(catalogue.id)] : [];
  const tags = [credentialTag(caller.credentialId), userTag(userId), governanceTag(tenant.id), ...ofApp];
  return { value, tags };
}

/** A token does what it was issued for; rows of a read-only connector do not change. */
function limit(alternative: Alternative, { scope }: Caller, { writable }: ConnectorRow): Alternative {
  const may = (action: 'read' | 'write') => !scope || scope.actions.includes(action);
  return {
    ...alternative,
    reads: may('read') ? alternative.reads : {},
    changes: may('write') && writable ? alternative.changes : {},
  };
}

async function loadMe(db: Db, tenant: TenantAccess, { userId, email }: Caller): Promise<Me> {
  return {
    id: userId,
    email,
    roles: [],
    groups: await listGroupIdsOf(db, tenant.id, userId),
    attributes: await loadMemberAttributes(db, tenant.id, userId),
  };
}

interface TableSource extends Pick<TableAccess, 'app' | 'rowDb' | 'writeDb'> {
  catalogue: TableCatalogue;
}

async function openSource(
  { db, connectorDatabases }: ConnectorAccessDeps,
  tenant: TenantAccess,
  row: ConnectorRow,
  { schema = '', table }: TableRef,
): Promise<TableSource | null> {
  if (!isText(schema) || !isText(table)) return null;
  if (row.kind === 'tables') {
    const app = row.app_id === null ? null : await findAppById({ db }, { id: row.app_id });
    if (!app || app.slug !== schema || app.record === 'deleted') return null;
    const catalogue = await loadCatalogue(db, { tenantId: tenant.id, appId: app.id }, table);
    return catalogue?.name === table ? { app, catalogue } : null;
  }
  const target = await connectorTarget(db, row);
  const found = await findConnectorTable(
    db,
    { tenantId: tenant.id, connectorId: row.id },
    { schema, name: table },
  );
  if (!target || !found) return null;
  const { reading, writing } = connectorDatabases.of(target);
  return {
    app: { id: row.id, slug: row.slug, record: 'active' },
    catalogue: foreignCatalogue(found, { id: row.id, tenantId: tenant.id, kind: target.kind }),
    rowDb: reading,
    writeDb: writing,
  };
}

/** Other texts are not looked up, because PostgreSQL would reject them. */
const isText = (text: string) => !text.includes('\0') && text.isWellFormed();
