import { connectorTarget, findConnectorRow } from '../../access/connectors/connectors.ts';
import { loadActiveGrants } from '../../access/grants/grants.ts';
import { isInScope } from '../../access/grants/rules.ts';
import { loadEnforcedPolicies, loadPolicies, type PolicyRow } from '../../access/policies/policies.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import type { TaggedCache } from '../../core/cache.ts';
import type { Caller, TenantAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { LiveKey } from '../../core/keys.ts';
import { credentialTag, userTag } from '../../core/tags.ts';
import type { ConnectorDatabases } from '../../drivers/connectors/databases.ts';
import { listGroupIdsOf } from '../../people/groups/groups.ts';
import { loadMemberAttributes } from '../../people/tenants/member-attributes.ts';
import { type Alternative, combine } from '../rows/access.ts';
import type { RowsPath } from '../rows/context.ts';
import { grantAlternative } from '../rows/decide.ts';
import { callerTables, type TableAccess } from '../rows/table-access.ts';
import type { Me } from '../tables/caller-values.ts';
import type { TableCatalogue } from '../tables/catalogue.ts';
import { loadCatalogue } from '../tables/load-catalogue.ts';
import { foreignCatalogue } from './foreign-catalogue.ts';
import { appliesTo, fitPolicy } from './policies.ts';
import { findConnectorTable } from './store.ts';

export type ConnectorRow = NonNullable<Awaited<ReturnType<typeof findConnectorRow>>>;
type TableRef = Pick<RowsPath, 'tenant' | 'app' | 'table' | 'schema'>;

export interface ConnectorAccessDeps {
  db: Db;
  now: () => Date;
  maskKey: LiveKey<string>;
  tenantAccess: (ref: string, caller: Caller) => Promise<TenantAccess | null>;
  connectorDatabases: ConnectorDatabases;
}

/** What a change of a grant, preset, policy, scope or connector may take to be seen, also by other servers. */
const cachedMsMax = 500;

export function createConnectorAccess(deps: ConnectorAccessDeps & { cache: TaggedCache<TableAccess> }) {
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
  const tenant = await deps.tenantAccess(ref.tenant, caller);
  const { value } = (tenant && (await decideConnectorAccess(deps, tenant, caller, ref))) ?? {};
  return value ? { value, tags: [credentialTag(caller.credentialId), userTag(caller.userId)] } : null;
}

type ActiveGrant = Awaited<ReturnType<typeof loadActiveGrants>>[number];

/** The access, and the facts that explain why there is none. */
export interface ConnectorDecision {
  connector: ConnectorRow;
  path: string;
  me: Me;
  /** Of the caller, on the connector. */
  grants: readonly ActiveGrant[];
  inScope: readonly ActiveGrant[];
  value: TableAccess | null;
}

export async function decideConnectorAccess(
  deps: ConnectorAccessDeps,
  tenant: TenantAccess,
  caller: Caller,
  ref: TableRef,
): Promise<ConnectorDecision | null> {
  const { db } = deps;
  const { userId, scope, throughApp } = caller;
  // Grants are of people: neither an app nor a token for certain apps uses them.
  if (throughApp !== undefined || (scope && (scope.tenantId !== tenant.id || scope.apps.length > 0)))
    return null;
  const connector = isText(ref.app) ? await findConnectorRow(db, tenant.id, ref.app) : undefined;
  if (!connector) return null;
  const path = `${ref.schema}/${ref.table}`;
  const active = await loadActiveGrants(db, tenant.id, userId);
  const grants = active.filter(({ connectorId }) => connectorId === connector.id);
  const inScope = grants.filter((grant) => isInScope(grant.scope, path));
  const me = await loadMe(db, tenant, caller);
  const source = inScope.length === 0 ? null : await openSource(deps, tenant, connector, ref);
  const found = { connector, path, me };
  const value = source && (await accessByGrants(deps, tenant, { ...found, caller, source, grants: inScope }));
  return { ...found, grants, inScope, value };
}

interface GrantedTable extends Pick<ConnectorDecision, 'connector' | 'path' | 'me' | 'grants'> {
  caller: Pick<Caller, 'scope'>;
  source: TableSource;
}

export async function accessByGrants(
  deps: ConnectorAccessDeps,
  tenant: TenantAccess,
  { caller, connector, path, me, source, grants }: GrantedTable,
): Promise<TableAccess | null> {
  const { db } = deps;
  const { catalogue } = source;
  const policies = await loadPolicies(db, tenant.id, [
    ...new Set(grants.flatMap(({ policyIds }) => policyIds)),
  ]);
  const fit = (found: readonly PolicyRow[]) =>
    found
      .filter((policy) => appliesTo(policy, { connectorId: connector.id, path }))
      .map((policy) => fitPolicy(policy, catalogue, me));
  const enforced = fit(await loadEnforcedPolicies(db, tenant.id));
  const alternatives = grants.map((grant) =>
    grantAlternative(catalogue, {
      id: grant.id,
      text: `a grant of ${connector.slug}`,
      actions: grant.actions,
      policies: [...fit(policies.filter(({ id }) => grant.policyIds.includes(id))), ...enforced],
    }),
  );
  const usable = alternatives
    .map((alternative) => limit(alternative, caller, connector))
    .filter(({ reads, changes }) => Object.keys({ ...reads, ...changes }).length > 0);
  const access = combine(usable);
  if (!access) return null;
  const ends = grants.flatMap(({ expiresAt }) => (expiresAt ? [expiresAt.getTime()] : []));
  return {
    ...source,
    access,
    governed: {
      tenantId: tenant.id,
      connectorId: connector.id,
      appId: connector.kind === 'tables' ? connector.app_id : null,
      path,
    },
    isReadOnly: !connector.writable && alternatives.some(({ changes }) => Object.keys(changes).length > 0),
    until: Math.min(deps.now().getTime() + cachedMsMax, ...ends),
    ...callerTables(catalogue, access, deps.maskKey.current()),
  };
}

/** A token does what it was issued for; rows of a read-only connector do not change. */
function limit(
  alternative: Alternative,
  { scope }: Pick<Caller, 'scope'>,
  { writable }: ConnectorRow,
): Alternative {
  const may = (action: 'read' | 'write') => !scope || scope.actions.includes(action);
  return {
    ...alternative,
    reads: may('read') ? alternative.reads : {},
    changes: may('write') && writable ? alternative.changes : {},
  };
}

export async function loadMe(
  db: Db,
  tenant: TenantAccess,
  { userId, email }: Pick<Caller, 'userId' | 'email'>,
): Promise<Me> {
  return {
    id: userId,
    email,
    roles: [],
    groups: await listGroupIdsOf(db, tenant.id, userId),
    attributes: await loadMemberAttributes(db, tenant.id, userId),
  };
}

export interface TableSource extends Pick<TableAccess, 'app' | 'rowDb' | 'writeDb'> {
  catalogue: TableCatalogue;
}

export async function openSource(
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
