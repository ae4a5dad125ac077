import type { GrantedTable, listMyTables as shape } from '@svc/contract/grants.shapes.ts';
import type { z } from 'zod';
import { findConnectorRow } from '../../access/connectors/connectors.ts';
import { loadActiveGrants } from '../../access/grants/grants.ts';
import { covers, isInScope } from '../../access/grants/rules.ts';
import { describePresets } from '../../access/presets/presets.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import type { TenantCtx } from '../../core/context.ts';
import { paginate } from '../../core/paging.ts';
import { Failure } from '../../core/problem.ts';
import { findGroups } from '../../people/groups/groups.ts';
import { combine, limitUpdates, rowActions, viewOf } from '../rows/access.ts';
import { type TableView, wholeView } from '../rows/row-table.ts';
import type { TableCatalogue } from '../tables/catalogue.ts';
import { loadAppTables } from '../tables/load-catalogue.ts';
import { foreignCatalogue, listAllConnectorTables } from './foreign-tables.ts';
import {
  type ActiveGrant,
  type GrantFacts,
  grantAlternatives,
  listSiblingIds,
  loadGrantFacts,
  loadMe,
} from './granted-access.ts';

type Connector = NonNullable<Awaited<ReturnType<typeof findConnectorRow>>>;
type TableRecord = z.output<typeof GrantedTable>;

interface OpenTable {
  connector: Connector;
  siblingIds: readonly string[];
  path: string;
  catalogue: TableCatalogue;
  grants: readonly ActiveGrant[];
}

/** What the caller would see now, by the same decision as for the rows themselves. */
export async function listMyTables(ctx: TenantCtx, query: z.output<typeof shape.query>) {
  const { db, tenant, caller } = ctx;
  const grants = (await loadActiveGrants(db, tenant.id, caller.userId)).filter(({ actions }) =>
    rowActions.some((action) => actions.includes(action)),
  );
  const page = paginate(query, await listOpenTables(ctx, grants, query));
  const facts = await loadGrantFacts(db, tenant, await loadMe(db, tenant, caller), grants);
  const names = await loadNames(ctx, grants);
  return { ...page, items: page.items.map((table) => tableRecord(facts, names, table)) };
}

async function listOpenTables(
  ctx: TenantCtx,
  grants: readonly ActiveGrant[],
  only: { connector?: string | undefined; path?: string | undefined },
): Promise<OpenTable[]> {
  const found: OpenTable[] = [];
  for (const id of new Set(grants.map(({ connectorId }) => connectorId))) {
    const connector = await findConnectorRow(ctx.db, ctx.tenant.id, id);
    if (!connector || ![undefined, connector.id, connector.slug].includes(only.connector)) continue;
    const siblingIds = await listSiblingIds(ctx.db, ctx.tenant, connector);
    for (const { path, catalogue } of await listCatalogues(ctx, connector)) {
      if (only.path !== undefined && !covers(only.path, path)) continue;
      const covering = grants.filter((grant) => grant.connectorId === id && isInScope(grant.scope, path));
      if (covering.length > 0) found.push({ connector, siblingIds, path, catalogue, grants: covering });
    }
  }
  const key = ({ connector, path }: OpenTable) => `${connector.slug} ${path}`;
  return found.sort((one, other) => (key(one) < key(other) ? -1 : 1));
}

async function listCatalogues({ db, tenant }: TenantCtx, connector: Connector) {
  const { id, kind, app_id } = connector;
  if (kind === 'tables') {
    const app = app_id === null ? null : await findAppById({ db }, { id: app_id });
    const tables = app ? await loadAppTables(db, { tenantId: tenant.id, appId: app.id }) : [];
    return tables.map(({ catalogue }) => ({ path: `${app?.slug}/${catalogue.name}`, catalogue }));
  }
  if (kind !== 'postgres' && kind !== 'mysql') return [];
  const tables = await listAllConnectorTables(db, { tenantId: tenant.id, connectorId: id });
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
