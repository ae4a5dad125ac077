import type { ConnectorTable, ConnectorTest } from '@svc/contract/connectors.shapes.ts';
import { connectorTablesMax } from '@svc/contract/connectors.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import {
  connectorTarget,
  findConnectorRow,
  recordSchemaRefresh,
} from '../../access/connectors/connectors.ts';
import { findAppById } from '../../apps/record/find-app.ts';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type PageQuery, pageWindow, paginate, toPage } from '../../core/paging.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import type { ConnectorDatabases } from '../../drivers/connectors/databases.ts';
import type { ForeignServer, ForeignTable } from '../../drivers/connectors/types.ts';
import { loadAppTables } from '../tables/load-catalogue.ts';
import { listUnfitPolicies } from './check-policy.ts';
import { listAllConnectorTables, listConnectorTableRows, replaceConnectorTables } from './foreign-tables.ts';

export interface ConnectorsDeps {
  connectorDatabases: ConnectorDatabases;
}

type ConnectorRow = NonNullable<Awaited<ReturnType<typeof findConnectorRow>>>;

async function getConnectorRow({ db, tenant }: TenantCtx, ref: string): Promise<ConnectorRow> {
  return orNotFound(await findConnectorRow(db, tenant.id, ref));
}

async function openForeign(ctx: TenantCtx, row: ConnectorRow, deps: ConnectorsDeps) {
  const target = await connectorTarget(ctx.db, row);
  if (!target)
    throw fail('connector_not_configured', {
      detail: `The connector ${row.slug} has no connection settings.`,
    });
  return deps.connectorDatabases.of(target);
}

export async function testConnector(
  ctx: TenantCtx,
  input: { connector: string },
  deps: ConnectorsDeps,
): Promise<z.output<typeof ConnectorTest>> {
  const row = await getConnectorRow(ctx, input.connector);
  if (row.kind === 'tables') return testAppTables(ctx, row);
  const found = await (await openForeign(ctx, row, deps)).probe();
  return { ...found, warnings: loginWarnings(found, row) };
}

function loginWarnings({ login, tls }: ForeignServer, { writable, connection }: ConnectorRow): string[] {
  const warnings: string[] = [];
  if (login.is_superuser)
    warnings.push(`${login.username} is a superuser. Use a login that can only read what people may see.`);
  if (login.can_write && !writable)
    warnings.push(`${login.username} can change data, although the connector is read-only.`);
  if (!login.can_write && writable)
    warnings.push(`${login.username} cannot change data, although the connector is writable.`);
  if (login.tables === 0) warnings.push(`${login.username} can read no table.`);
  if (tls === '') warnings.push('The connection is not encrypted.');
  else if (connection?.tls === 'require') warnings.push('The certificate of the server is not verified.');
  return warnings;
}

async function testAppTables(ctx: TenantCtx, row: ConnectorRow) {
  const tables = await listAppTables(ctx, row);
  if (tables === null)
    throw fail('connector_not_configured', { detail: `The connector ${row.slug} has no app.` });
  const startedAt = performance.now();
  const { rows } = await sql<{
    version: string;
  }>`select current_setting('server_version') as version`.execute(ctx.db);
  return {
    server: 'Tables of an app',
    version: rows[0]?.version ?? '',
    latency_ms: Math.round((performance.now() - startedAt) * 100) / 100,
    tls: '',
    login: { username: '', is_superuser: false, can_write: row.writable, tables: tables.length },
    warnings: [],
  };
}

async function listAppTables(
  { db, tenant }: { db: Db; tenant: { id: string } },
  row: ConnectorRow,
): Promise<ForeignTable[] | null> {
  const app = row.app_id === null ? null : await findAppById({ db }, { id: row.app_id });
  if (!app) return null;
  const tables = await loadAppTables(db, { tenantId: tenant.id, appId: app.id });
  return tables.map(({ catalogue: { name, columns, idColumn } }) => ({
    schema: app.slug,
    name,
    kind: 'table',
    primary_key: [idColumn.name],
    columns: columns.map((column) => ({
      name: column.name,
      type: column.type,
      native_type: column.type,
      nullable: column.nullable,
      expression: null,
      has_byte_order: true,
      has_default: column.default !== null,
      is_generated: false,
    })),
  }));
}

/** Outside the transaction: the data source may be slow. */
export async function readSchema(
  ctx: TenantCtx,
  input: { connector: string },
  deps: ConnectorsDeps,
): Promise<ForeignTable[]> {
  const row = await getConnectorRow(ctx, input.connector);
  if (row.kind === 'tables') {
    const tables = await listAppTables(ctx, row);
    if (tables) return tables;
    throw fail('connector_not_configured', { detail: `The connector ${row.slug} has no app.` });
  }
  const tables = await (await openForeign(ctx, row, deps)).listTables();
  if (tables.length > connectorTablesMax)
    throw fail('limit_reached', {
      detail: `The login can read ${tables.length} tables; at most ${connectorTablesMax} are supported. Grant it fewer.`,
    });
  return tables;
}

export async function refreshSchema(
  ctx: TenantMutationCtx,
  input: { connector: string },
  found: readonly ForeignTable[],
) {
  const row = await getConnectorRow(ctx, input.connector);
  const connector = { tenantId: ctx.tenant.id, connectorId: row.id };
  // The tables of an app are always read from the app.
  const stored = row.kind === 'tables' ? found : await listAllConnectorTables(ctx.db, connector);
  const before = new Map(stored.map((table) => [tablePath(table), table]));
  const after = new Map(found.map((table) => [tablePath(table), table]));
  const changes = {
    tables: found.length,
    added: [...after.keys()].filter((path) => !before.has(path)).sort(),
    removed: [...before.keys()].filter((path) => !after.has(path)).sort(),
    changed: [...after]
      .filter(([path, table]) => before.has(path) && !isDeepEqual(before.get(path), table))
      .map(([path]) => path)
      .sort(),
  };
  if (row.kind !== 'tables') await replaceConnectorTables(ctx.db, connector, found);
  const unfit_policies = await listUnfitPolicies(ctx, row, found);
  await recordSchemaRefresh(ctx, row);
  ctx.audit({
    action: 'connectors.refreshSchema',
    target: { kind: 'connector', id: row.id, name: row.slug },
    before: { tables: stored.length },
    after: { ...changes, ...(unfit_policies.length > 0 && { unfit_policies }) },
  });
  return { connector_id: row.id, ...changes, unfit_policies, schema_refreshed_at: ctx.now.toISOString() };
}

export async function listConnectorTables(ctx: TenantCtx, input: { connector: string; query: PageQuery }) {
  const row = await getConnectorRow(ctx, input.connector);
  if (row.kind === 'tables')
    return paginate(input.query, ((await listAppTables(ctx, row)) ?? []).map(tableRecord));
  const connector = { tenantId: ctx.tenant.id, connectorId: row.id };
  const { tables, total } = await listConnectorTableRows(ctx.db, connector, pageWindow(input.query));
  return toPage(input.query, tables.map(tableRecord), total);
}

export async function listTablePaths(db: Db, tenantId: string, row: ConnectorRow): Promise<string[]> {
  if (row.kind === 'tables')
    return ((await listAppTables({ db, tenant: { id: tenantId } }, row)) ?? []).map(tablePath);
  return (await listAllConnectorTables(db, { tenantId, connectorId: row.id })).map(tablePath);
}

const tablePath = ({ schema, name }: ForeignTable) => `${schema}/${name}`;

function tableRecord(table: ForeignTable): z.output<typeof ConnectorTable> {
  const { schema, name, kind, primary_key } = table;
  const columns = table.columns.map(({ name, type, native_type, nullable }) => ({
    name,
    type,
    native_type,
    nullable,
  }));
  return { path: tablePath(table), schema, name, kind, primary_key, columns };
}
