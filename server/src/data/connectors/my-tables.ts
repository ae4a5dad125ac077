import type { GrantedTable, listMyTables as shape } from '@svc/contract/grants.shapes.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import { findConnectorRow } from '../../access/connectors/connectors.ts';
import { loadActiveGrants } from '../../access/grants/grants.ts';
import { isInScope } from '../../access/grants/rules.ts';
import { describePresets } from '../../access/presets/presets.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import type { TenantCtx } from '../../core/context.ts';
import { pageWindow, toPage } from '../../core/paging.ts';
import { Failure } from '../../core/problem.ts';
import { findGroups } from '../../people/groups/groups.ts';
import { combine, limitUpdates, rowActions, viewOf } from '../rows/access.ts';
import { type TableView, wholeView } from '../rows/row-table.ts';
import type { TableCatalogue } from '../tables/catalogue.ts';
import type { Me } from '../tables/conditions.ts';
import { loadAppTables } from '../tables/load-catalogue.ts';
import { findConnectorTables, foreignCatalogue } from './foreign-tables.ts';
import {
  type ActiveGrant,
  type GrantFacts,
  grantAlternatives,
  listSiblingIds,
  loadGrantFacts,
  loadMe,
  rolesAt,
} from './granted-access.ts';

type Connector = NonNullable<Awaited<ReturnType<typeof findConnectorRow>>>;
type TableRecord = z.output<typeof GrantedTable>;

interface OpenTable {
  connector: Connector;
  siblingIds: readonly string[];
  path: string;
  catalogue: TableCatalogue;
  grants: readonly ActiveGrant[];
  roles: Me['roles'];
}

/** Uses the same decision as the rows themselves. */
export async function listMyTables(ctx: TenantCtx, query: z.output<typeof shape.query>) {
  const { db, tenant, caller } = ctx;
  const grants = (await loadActiveGrants(db, tenant.id, caller.userId)).filter(({ actions }) =>
    rowActions.some((action) => actions.includes(action)),
  );
  const { rows, total } = await listPaths(ctx, grants, query);
  const tables = await loadOpenTables(ctx, grants, rows);
  const me = await loadMe(db, tenant, caller, { app_id: null });
  const facts = await loadGrantFacts(db, tenant, me, grants);
  const names = await loadNames(ctx, grants);
  return toPage(
    query,
    tables.map((table) => tableRecord({ ...facts, me: { ...me, roles: table.roles } }, names, table)),
    total,
  );
}

interface PathRow {
  connector_id: string;
  path: string;
}

/** The page is cut before columns are read: a connector may have thousands of tables. */
async function listPaths(
  { db, tenant }: TenantCtx,
  grants: readonly ActiveGrant[],
  query: z.output<typeof shape.query>,
): Promise<{ rows: PathRow[]; total: number }> {
  const scopes = grants.flatMap(({ connectorId, scope }) =>
    (scope.length === 0 ? [null] : scope).map((entry) => ({ connector_id: connectorId, entry })),
  );
  const { connector = null, path = null } = query;
  const { limit, offset } = pageWindow(query);
  const found = sql`
    select c.id as connector_id, c.slug, t.path from svc.connectors c cross join lateral (
      select schema_name || '/' || table_name as path from svc.connector_tables
        where connector_id = c.id and c.kind in ('postgres', 'mysql')
      union all
      select a.slug || '/' || t.name from svc.apps a join svc.app_tables t on t.app_id = a.id
        where a.id = c.app_id and c.kind = 'tables' and a.record in ('active', 'archived')) t
    where c.tenant_id = ${tenant.id} and (${connector}::text is null or ${connector}::text in (c.id::text, c.slug))
      and (${path}::text is null or t.path = ${path}::text or starts_with(t.path, ${path}::text || '/'))
      and exists (select from jsonb_to_recordset(${JSON.stringify(scopes)}::jsonb) as s (connector_id uuid, entry text)
        where s.connector_id = c.id and (s.entry is null or t.path = s.entry or starts_with(t.path, s.entry || '/')))`;
  const { rows } = await sql<PathRow>`
    select connector_id, path from (${found}) f order by slug collate "C", path collate "C"
    limit ${limit} offset ${offset}`.execute(db);
  const counted = await sql<{ total: number }>`select count(*) as total from (${found}) f`.execute(db);
  return { rows, total: counted.rows[0]?.total ?? 0 };
}

async function loadOpenTables(
  ctx: TenantCtx,
  grants: readonly ActiveGrant[],
  page: readonly PathRow[],
): Promise<OpenTable[]> {
  const found = new Map<string, OpenTable>();
  const key = ({ connector_id, path }: PathRow) => `${connector_id} ${path}`;
  for (const [id, rows] of Map.groupBy(page, ({ connector_id }) => connector_id)) {
    const connector = await findConnectorRow(ctx.db, ctx.tenant.id, id);
    if (!connector) continue;
    const siblingIds = await listSiblingIds(ctx.db, ctx.tenant, connector);
    const roles = await rolesAt(ctx.db, ctx.tenant, ctx.caller.userId, connector);
    const paths = rows.map(({ path }) => path);
    for (const { path, catalogue } of await loadCatalogues(ctx, connector, paths)) {
      const covering = grants.filter((grant) => grant.connectorId === id && isInScope(grant.scope, path));
      const table = { connector, siblingIds, path, catalogue, grants: covering, roles };
      found.set(key({ connector_id: id, path }), table);
    }
  }
  return page.flatMap((row) => found.get(key(row)) ?? []);
}

async function loadCatalogues({ db, tenant }: TenantCtx, connector: Connector, paths: readonly string[]) {
  const { id, kind, app_id } = connector;
  if (kind === 'tables') {
    const app = app_id === null ? null : await findAppById({ db }, { id: app_id });
    const tables = app ? await loadAppTables(db, { tenantId: tenant.id, appId: app.id }) : [];
    return tables.map(({ catalogue }) => ({ path: `${app?.slug}/${catalogue.name}`, catalogue }));
  }
  if (kind !== 'postgres' && kind !== 'mysql') return [];
  const tables = await findConnectorTables(db, { tenantId: tenant.id, connectorId: id }, paths);
  return tables.map((table) => ({
    path: `${table.schema}/${table.name}`,
    catalogue: foreignCatalogue(table, { id, tenantId: tenant.id, kind }),
  }));
}

interface Names {
  presets: ReadonlyMap<string, string>;
  groups: ReadonlyMap<string, string>;
}

async function loadNames({ db, tenant }: TenantCtx, grants: readonly ActiveGrant[]): Promise<Names> {
  const presets = await describePresets(
    db,
    tenant.id,
    grants.map(({ presetId }) => presetId),
  );
  const groupIds = [...new Set(grants.flatMap(({ groupId }) => groupId ?? []))];
  const groups = await findGroups(db, tenant.id, groupIds);
  return {
    presets: new Map(presets.map(({ id, name }) => [id, name])),
    groups: new Map(groups.map(({ id, display_name }) => [id, display_name])),
  };
}

function tableRecord(facts: GrantFacts, names: Names, table: OpenTable): TableRecord {
  const { connector, path, grants } = table;
  const ends = grants.map(({ expiresAt }) => expiresAt);
  const last = ends.includes(null) ? null : Math.max(...ends.map((end) => end?.getTime() ?? 0));
  const visible = describeAccess(facts, table);
  return {
    connector_id: connector.id,
    connector_slug: connector.slug,
    connector_name: connector.name,
    path,
    ...visible,
    masked_columns: maskedColumns(visible),
    expires_at: last === null ? null : new Date(last).toISOString(),
    grants: grants.map((grant) => ({
      id: grant.id,
      preset_name: names.presets.get(grant.presetId) ?? grant.presetId,
      group_name: grant.groupId === null ? '' : (names.groups.get(grant.groupId) ?? grant.groupId),
      expires_at: grant.expiresAt?.toISOString() ?? null,
      masked_columns: maskedColumns(describeAccess(facts, { ...table, grants: [grant] })),
    })),
  };
}

const maskedColumns = ({ columns }: Visible) =>
  columns.flatMap(({ name, mask }) => (mask === null ? [] : [name]));

type Visible = Pick<TableRecord, 'actions' | 'columns' | 'problem'>;

function describeAccess(facts: GrantFacts, table: OpenTable): Visible {
  try {
    const access = combine(limitUpdates(grantAlternatives(facts, table.grants, table), table.catalogue));
    if (!access) return { actions: [], columns: [], problem: null };
    const { writable } = table.connector;
    const isPossible = (action: string) => writable || action === 'read' || action === 'export';
    const canRead = access.actions.has('read');
    // No values are read, so no key for their hashes is needed.
    const view = viewOf(access, 'read', table.catalogue, wholeView.keys);
    return {
      actions: rowActions.filter((action) => access.actions.has(action) && isPossible(action)),
      columns: canRead ? describeColumns(table.catalogue, view) : [],
      problem: null,
    };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { actions: [], columns: [], problem: error.detail ?? error.message };
  }
}

function describeColumns({ columns }: TableCatalogue, view: TableView): TableRecord['columns'] {
  const seen = view.columns ?? columns.map((column) => ({ column, cases: [] }));
  return seen.flatMap(({ column: { name, type }, cases }) => {
    const mask = cases.find((each) => each.mask !== null)?.mask?.kind ?? null;
    return name === '' ? [] : [{ name, type, mask }];
  });
}
