import { consolePaths } from '@svc/contract/console-paths.ts';
import { parseDataScope, scopedActions } from '@svc/contract/data-scopes.ts';
import { connectorTarget, findConnectorRow } from '../../access/connectors/connectors.ts';
import { isInScope } from '../../access/grants/rules.ts';
import { listPresetTerms } from '../../access/presets/presets.ts';
import { findAppById, findAppOfTenant } from '../../apps/record/find-app.ts';
import { isVisibleTo } from '../../apps/record/rules.ts';
import { findDataScopes } from '../../apps/record/status-store.ts';
import type { TaggedCache } from '../../core/cache.ts';
import { type Caller, ownsApp, type TenantAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { LiveKey } from '../../core/keys.ts';
import { type Failure, fail } from '../../core/problem.ts';
import { appTag, credentialTag, governanceTag, tableTag, userTag } from '../../core/tags.ts';
import type { ConnectorDatabases } from '../../drivers/connectors/databases.ts';
import { type Alternative, combine, limitUpdates, type RowAction } from '../rows/access.ts';
import type { RowsPath } from '../rows/context.ts';
import { hasParts } from '../rows/decide.ts';
import { loadCallerGrants, loadOwnApp } from '../rows/policies.ts';
import { callerTables, type TableAccess } from '../rows/table-access.ts';
import type { TableCatalogue } from '../tables/catalogue.ts';
import type { Me } from '../tables/conditions.ts';
import { loadCatalogue } from '../tables/load-catalogue.ts';
import { findConnectorTable, foreignCatalogue } from './foreign-tables.ts';
import {
  type ActiveGrant,
  grantAlternatives,
  listSiblingIds,
  loadGrantFacts,
  loadMe,
} from './granted-access.ts';

interface ThroughApp {
  name: string;
  appIds: readonly string[];
  actions: ReadonlySet<RowAction>;
  /** Requested, but no review has approved it. */
  isWaiting: (action: RowAction) => boolean;
}

interface TableName {
  connector: string;
  path: string;
}

/** Fails without a scope, whether or not the table exists. Owners try out requested scopes before a review approves them. */
async function loadThroughApp(
  db: Db,
  tenant: TenantAccess,
  { userId, throughApp = '' }: Caller,
  table: TableName,
): Promise<ThroughApp | null> {
  const app = await findAppOfTenant(db, tenant.id, { ref: throughApp, userId });
  if (!app || !isVisibleTo(app.visibility, app.relation, 'tenant_member')) return null;
  const { requested, approved } = await findDataScopes(db, { tenantId: tenant.id, appId: app.id });
  const usable = ownsApp(app.relation) ? requested : requested.filter((scope) => approved.includes(scope));
  const requestedActions = scopedActions(requested, table);
  const actions = scopedActions(usable, table);
  const through = {
    name: app.name,
    appIds: [app.id, ...(app.previewOf === null ? [] : [app.previewOf])],
    actions,
    isWaiting: (action: RowAction) => requestedActions.has(action) && !actions.has(action),
  };
  if (actions.size === 0) throw scopeError(through, table, 'read');
  return through;
}

async function refuseThrough(
  { db, baseUrl }: { db: Db; baseUrl: string },
  through: ThroughApp,
  { tenant, table }: { tenant: TenantAccess; table: TableName },
): Promise<(action: RowAction) => Failure> {
  const presets = await listPresetTerms(db, tenant.id);
  return (action) => {
    if (!through.actions.has(action)) return scopeError(through, table, action);
    const fitting = presets.filter(({ actions }) => actions.includes(action) && actions.includes('read'));
    // The smallest one that is enough.
    const [preset] = fitting.toSorted((one, other) => one.actions.length - other.actions.length);
    const form = consolePaths.requestAccess(tenant.slug, {
      connector: table.connector,
      ...(preset && { preset: preset.name }),
      scope: table.path,
      reason: `For the app ${through.name}`,
    });
    return fail('grant_missing', {
      detail: `You have no grant to ${action} ${table.path} of ${table.connector}. Request one at ${baseUrl}${form}`,
      requestUrl: `${baseUrl}${form}`,
    });
  };
}

function scopeError(
  { name, isWaiting }: ThroughApp,
  { connector, path }: TableName,
  action: RowAction,
): Failure {
  const scope = `${connector}/${path}:${action}`;
  const isScope = parseDataScope(scope) !== null;
  return fail('data_scope_missing', {
    detail: isWaiting(action)
      ? `The data scope of the app ${name} for ${scope} is not approved yet.`
      : `The app ${name} has no data scope${isScope ? ` ${scope}` : ' for this table'}. Its owners can request it.`,
  });
}

export type ConnectorRow = NonNullable<Awaited<ReturnType<typeof findConnectorRow>>>;
type TableRef = Pick<RowsPath, 'tenant' | 'app' | 'table' | 'schema'>;

export interface ConnectorAccessDeps {
  db: Db;
  now: () => Date;
  maskKey: LiveKey<string>;
  tenantAccess: (ref: string, caller: Caller) => Promise<TenantAccess | null>;
  connectorDatabases: ConnectorDatabases;
  baseUrl: string;
}

export function createConnectorAccess(deps: ConnectorAccessDeps & { cache: TaggedCache<TableAccess> }) {
  const cacheKey = (caller: Caller, { tenant, app, schema, table }: TableRef) =>
    // Lengths, because names of other databases can contain any character.
    `${caller.credentialId} ${tenant}/${app}/${schema?.length}/${schema}/${table}`;
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
  const decision = tenant && (await decideConnectorAccess(deps, tenant, caller, ref));
  if (!decision) return null;
  const { connector, value, refusal, tableExists, through } = decision;
  if (!value && refusal && tableExists !== false) throw refusal('read');
  if (!value) return null;
  const tags = [
    credentialTag(caller.credentialId),
    userTag(caller.userId),
    governanceTag(tenant.id),
    ...(connector.kind === 'tables' ? [appTag(value.app.id), tableTag(value.table.catalogue.id)] : []),
    ...(through?.appIds ?? []).map(appTag),
    ...(caller.ownApp ? [appTag(caller.ownApp.appId)] : []),
  ];
  return { value, tags };
}

export interface ConnectorDecision {
  connector: ConnectorRow;
  path: string;
  me: Me;
  grants: readonly ActiveGrant[];
  inScope: readonly ActiveGrant[];
  /** Null where no grant covers the table, whether or not there is one. */
  tableExists: boolean | null;
  value: TableAccess | null;
  through: ThroughApp | null;
  refusal?: (action: RowAction) => Failure;
}

export async function decideConnectorAccess(
  deps: ConnectorAccessDeps,
  tenant: TenantAccess,
  caller: Caller,
  ref: TableRef,
): Promise<ConnectorDecision | null> {
  const { db } = deps;
  const { scope, throughApp } = caller;
  // The grants of people are for all of what they do: a token for certain apps does not use them.
  const isForApps = scope !== undefined && scope.apps.length > 0 && !caller.ownApp;
  if (isForApps || (scope && scope.tenantId !== tenant.id)) return null;
  const connector = isText(ref.app) ? await findConnectorRow(db, tenant.id, ref.app) : undefined;
  const path = `${ref.schema}/${ref.table}`;
  const table = { connector: connector?.slug ?? ref.app, path };
  const through = throughApp === undefined ? null : await loadThroughApp(db, tenant, caller, table);
  if (!connector || (throughApp !== undefined && !through)) return null;
  const refusal = through ? await refuseThrough(deps, through, { tenant, table }) : undefined;
  const active = await loadCallerGrants(db, tenant.id, caller);
  const grants = active.filter(({ connectorId }) => connectorId === connector.id);
  const inScope = grants.filter((grant) => isInScope(grant.scope, path));
  const source = inScope.length === 0 ? null : await openSource(deps, tenant, connector, ref);
  const me = await loadMe(db, tenant, caller, connector);
  const found = { connector, path, me, through, ...(refusal && { refusal }) };
  const value = source && (await accessByGrants(deps, tenant, { ...found, caller, source, grants: inScope }));
  return { ...found, grants, inScope, tableExists: inScope.length === 0 ? null : source !== null, value };
}

interface GrantedTable extends Pick<ConnectorDecision, 'connector' | 'path' | 'me' | 'grants' | 'refusal'> {
  caller: Pick<Caller, 'scope' | 'ownApp'>;
  through?: ThroughApp | null;
  source: TableSource;
}

export async function accessByGrants(
  deps: ConnectorAccessDeps,
  tenant: TenantAccess,
  { caller, connector, path, me, source, grants, through = null, refusal }: GrantedTable,
): Promise<TableAccess | null> {
  const { catalogue } = source;
  const facts = await loadGrantFacts(deps.db, tenant, me, grants);
  const siblingIds = await listSiblingIds(deps.db, tenant, connector);
  const alternatives = grantAlternatives(facts, grants, { connector, siblingIds, path, catalogue });
  const ownApp = await loadOwnApp(deps.db, caller);
  const canWrite = connector.writable && ownApp?.canWrite !== false;
  const usable = limitUpdates(alternatives, catalogue)
    .map((alternative) => limit(alternative, { caller, canWrite, through }))
    .filter(hasParts);
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
    ...(refusal && { refusal }),
    until: Math.min(...ends),
    ...callerTables(catalogue, access, deps.maskKey.current()),
  };
}

/** A token does what it was issued for, an app what it has scopes for; rows of a read-only connector do not change. */
function limit(
  alternative: Alternative,
  {
    caller: { scope },
    canWrite,
    through,
  }: { caller: Pick<Caller, 'scope'>; canWrite: boolean; through: ThroughApp | null },
): Alternative {
  const may = (action: 'read' | 'write') => !scope || scope.actions.includes(action);
  const pickAllowed = <T extends object>(parts: T): T =>
    Object.fromEntries(
      Object.entries(parts).filter(([action]) => !through || through.actions.has(action as RowAction)),
    ) as T;
  return {
    ...alternative,
    reads: may('read') ? pickAllowed(alternative.reads) : {},
    changes: may('write') && canWrite ? pickAllowed(alternative.changes) : {},
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
