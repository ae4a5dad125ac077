import type {
  createConnector as shape,
  updateConnector as updateConnectorShape,
} from '@svc/contract/connectors.shapes.ts';
import { databasePorts, isDatabaseKind } from '@svc/contract/connectors.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import type { z } from 'zod';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { declareSealingKey } from '../../core/keys.ts';
import { type PageQuery, pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { seal, sealingKey, unseal } from '../../core/seal.ts';
import { governanceTag } from '../../core/tags.ts';
import { isDeepEqual } from '../../core/values.ts';
import type { ConnectorTarget } from '../../drivers/connectors/types.ts';
import { publishAccessEvent } from '../access-events.ts';
import { listPolicyNamesOfConnector, refuseWhileGranted } from '../usage.ts';
import { accessSettingsOf, changeAccessSettings, defaultAccessSettings } from './access-settings.ts';
import {
  type ConnectionSettings,
  type ConnectorRow,
  connectorRecord,
  deleteConnectorRow,
  findConnectorRow,
  findConnectorRows,
  insertConnectorRow,
  listConnectorRows,
  lockConnectorRow,
  updateConnectorRow,
} from './store.ts';

export const connectorKey = declareSealingKey({
  name: 'connectors.sealing_key',
  protects: 'Passwords of data connectors',
  columns: { 'connectors.password_sealed': 'id::text' },
});

async function sealPassword(db: Db, { id, password }: { id: string; password: string }) {
  if (password === '') return null;
  return seal(await sealingKey(db, connectorKey), { text: password, boundTo: id });
}

async function unsealPassword(
  db: Db,
  { id, password_sealed: sealed }: Pick<ConnectorRow, 'id' | 'password_sealed'>,
): Promise<string> {
  return sealed === null ? '' : unseal(await sealingKey(db, connectorKey), { sealed, boundTo: id });
}

/** The password goes to whoever answers there: a stored one must not be sent to another server, or less protected. */
function needsPassword(before: ConnectionSettings, after: ConnectionSettings): boolean {
  return (['host', 'port', 'tls', 'ca_certificate'] as const).some((name) => before[name] !== after[name]);
}

export {
  findConnectorRow,
  listAllConnectorRows,
  listConnectorRows,
  listConnectorsOfApp,
  listKnownTables,
  lockConnectorForShare,
} from './store.ts';

export interface ConnectorDeps {
  findOwnedAppId(db: Db, tenantId: string, app: { ref: string; userId: string }): Promise<string | null>;
}

const auditTarget = ({ id, slug }: ConnectorRow) => ({ kind: 'connector', id, name: slug });
const describedFields = ({ slug, name, kind, description }: ConnectorRow) => ({
  slug,
  name,
  kind,
  description,
});

function auditedFields(row: ConnectorRow) {
  return { ...describedFields(row), ...accessSettingsOf(row), ...auditedSettings(row) };
}

function auditedSettings({ kind, app_id, connection, writable }: ConnectorRow): Record<string, unknown> {
  if (kind === 'tables') return app_id === null ? {} : { app_id, writable };
  return connection === null ? {} : { connection, writable };
}

export async function listConnectors(ctx: TenantCtx, query: PageQuery) {
  const { rows, total } = await listConnectorRows(ctx.db, ctx.tenant.id, pageWindow(query));
  return toPage(query, rows.map(connectorRecord), total);
}

export async function getConnector(ctx: TenantCtx, input: { connector: string }) {
  return connectorRecord(orNotFound(await findConnectorRow(ctx.db, ctx.tenant.id, input.connector)));
}

export async function createConnector(
  ctx: TenantMutationCtx,
  input: z.output<typeof shape.body>,
  deps: ConnectorDeps,
) {
  const slug = input.slug ?? slugFromName(input.name);
  if (!slug) throw validationError('slug', 'cannot be derived from this name; specify one');
  if (await findConnectorRow(ctx.db, ctx.tenant.id, slug))
    throw fail('unique_violation', { detail: `A connector ${slug} already exists.` });
  requireFittingSettings(input.kind, input);
  const { password, ...connection } = input.connection ?? { password: '' };
  const id = ctx.newId();
  const row: ConnectorRow = {
    id,
    tenant_id: ctx.tenant.id,
    slug,
    name: input.name,
    kind: input.kind,
    description: input.description,
    ...(await changeAccessSettings(ctx, defaultAccessSettings, input)),
    app_id: await findApp(ctx, input.app, deps),
    connection:
      'host' in connection ? { ...connection, port: connection.port ?? usualPort(input.kind) } : null,
    password_sealed: await sealPassword(ctx.db, { id, password }),
    writable: input.writable,
    connection_version: 0,
    schema_refreshed_at: null,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  await insertConnectorRow(ctx.db, row);
  ctx.invalidate(governanceTag(ctx.tenant.id));
  const after = auditedFields(row);
  ctx.audit({ action: 'connectors.create', target: auditTarget(row), before: null, after });
  return connectorRecord(row);
}

type Changes = z.output<typeof updateConnectorShape.body>;

export async function updateConnector(
  ctx: TenantMutationCtx,
  input: { connector: string; set: Changes },
  deps: ConnectorDeps,
) {
  const row = orNotFound(await lockConnectorRow(ctx.db, ctx.tenant.id, input.connector));
  const { set } = input;
  requireFittingSettings(row.kind, set);
  const password = set.connection?.password;
  const changed: ConnectorRow = {
    ...row,
    name: set.name ?? row.name,
    description: set.description ?? row.description,
    app_id: set.app === undefined ? row.app_id : await findApp(ctx, set.app, deps),
    connection: set.connection ? changedConnection(row, set.connection) : row.connection,
    password_sealed:
      password === undefined ? row.password_sealed : await sealPassword(ctx.db, { id: row.id, password }),
    writable: set.writable ?? row.writable,
    ...(await changeAccessSettings(ctx, row, set)),
  };
  const isReconnected = password !== undefined || !isDeepEqual(row.connection, changed.connection);
  const before: Record<string, unknown> = auditedChanges(row);
  const after: Record<string, unknown> = auditedChanges(changed);
  if (password !== undefined) Object.assign(after, { password: 'replaced' });
  ctx.audit({ action: 'connectors.update', target: auditTarget(row), before, after });
  if (isDeepEqual(before, after)) return connectorRecord(row);
  if (isReconnected) changed.connection_version++;
  await updateConnectorRow(ctx.db, row.id, { ...changed, updated_at: ctx.now });
  ctx.invalidate(governanceTag(ctx.tenant.id));
  return connectorRecord({ ...changed, updated_at: ctx.now });
}

function auditedChanges(row: ConnectorRow) {
  return { name: row.name, description: row.description, ...accessSettingsOf(row), ...auditedSettings(row) };
}

function changedConnection(row: ConnectorRow, set: NonNullable<Changes['connection']>): ConnectionSettings {
  const { password, ...settings } = set;
  const before = row.connection ?? {
    port: usualPort(row.kind),
    tls: 'verify-full' as const,
    ca_certificate: '',
  };
  const { host, database, username, ...rest } = { ...before, ...settings } as Partial<ConnectionSettings> &
    typeof before;
  if (host === undefined) throw validationError('connection.host', 'is required');
  if (database === undefined) throw validationError('connection.database', 'is required');
  if (username === undefined) throw validationError('connection.username', 'is required');
  const after = { host, database, username, ...rest };
  if (row.connection && row.password_sealed && password === undefined && needsPassword(row.connection, after))
    throw validationError(
      'connection.password',
      'is required with another host, port, tls or ca_certificate, so that nobody can send the stored one elsewhere',
    );
  return after;
}

function requireFittingSettings(
  kind: ConnectorRow['kind'],
  input: { app?: string | undefined; connection?: object | undefined; writable?: boolean | undefined },
): void {
  if (input.connection && !isDatabaseKind(kind))
    throw validationError('connection', `does not apply to a connector of kind ${kind}`);
  if (input.app !== undefined && kind !== 'tables')
    throw validationError('app', `does not apply to a connector of kind ${kind}`);
  if (input.writable && kind === 'http')
    throw validationError('writable', 'does not apply to a connector of kind http');
}

async function findApp(ctx: TenantMutationCtx, ref: string | undefined, deps: ConnectorDeps) {
  if (ref === undefined) return null;
  const id = await deps.findOwnedAppId(ctx.db, ctx.tenant.id, { ref, userId: ctx.caller.userId });
  // Admins manage apps without reading their rows, so they cannot open them to themselves.
  if (id === null)
    throw validationError('app', 'is not an app that you own; only its owners can open its tables');
  return id;
}

const usualPort = (kind: ConnectorRow['kind']) => (isDatabaseKind(kind) ? databasePorts[kind] : 0);

export async function connectorTarget(db: Db, row: ConnectorRow): Promise<ConnectorTarget | null> {
  if (!row.connection || !isDatabaseKind(row.kind)) return null;
  return {
    id: row.id,
    version: row.connection_version,
    kind: row.kind,
    settings: row.connection,
    password: await unsealPassword(db, row),
  };
}

export async function recordSchemaRefresh(ctx: TenantMutationCtx, row: ConnectorRow): Promise<void> {
  await updateConnectorRow(ctx.db, row.id, { schema_refreshed_at: ctx.now });
  ctx.invalidate(governanceTag(ctx.tenant.id));
}

export async function deleteConnector(
  ctx: TenantMutationCtx,
  input: { connector: string },
): Promise<undefined> {
  const row = orNotFound(await lockConnectorRow(ctx.db, ctx.tenant.id, input.connector));
  await refuseWhileGranted(ctx, 'connector', row.id);
  const policies = await listPolicyNamesOfConnector(ctx.db, ctx.tenant.id, row.id);
  if (policies.length > 0)
    throw fail('connector_in_use', { detail: `Access policies are bound to it: ${policies.join(', ')}.` });
  await deleteConnectorRow(ctx.db, row.id);
  ctx.invalidate(governanceTag(ctx.tenant.id));
  ctx.audit({
    action: 'connectors.delete',
    target: auditTarget(row),
    before: auditedFields(row),
    after: null,
  });
  await publishAccessEvent(ctx, 'connectorDeleted', { tenantId: ctx.tenant.id, connectorId: row.id });
}

export async function findConnectorId(db: Db, tenantId: string, ref: string): Promise<string | null> {
  return (await findConnectorRow(db, tenantId, ref))?.id ?? null;
}

export async function describeConnectors(db: Db, tenantId: string, ids: readonly string[]) {
  return (await findConnectorRows(db, tenantId, ids)).map((row) => ({ id: row.id, ...describedFields(row) }));
}
