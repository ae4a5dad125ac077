import type {
  createConnector as shape,
  updateConnector as updateConnectorShape,
} from '@svc/contract/connectors.shapes.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import type { z } from 'zod';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type PageQuery, pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { isDeepEqual } from '../../core/values.ts';
import { listPolicyNamesOfConnector, refuseWhileGranted } from '../usage.ts';
import {
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

export { lockConnectorForShare } from './store.ts';

const auditTarget = ({ id, slug }: ConnectorRow) => ({ kind: 'connector', id, name: slug });
const auditedFields = ({ slug, name, kind, description }: ConnectorRow) => ({
  slug,
  name,
  kind,
  description,
});

export async function listConnectors(ctx: TenantCtx, query: PageQuery) {
  const { rows, total } = await listConnectorRows(ctx.db, ctx.tenant.id, pageWindow(query));
  return toPage(query, rows.map(connectorRecord), total);
}

export async function getConnector(ctx: TenantCtx, input: { connector: string }) {
  return connectorRecord(orNotFound(await findConnectorRow(ctx.db, ctx.tenant.id, input.connector)));
}

export async function createConnector(ctx: TenantMutationCtx, input: z.output<typeof shape.body>) {
  const slug = input.slug ?? slugFromName(input.name);
  if (!slug) throw validationError('slug', 'cannot be derived from this name; specify one');
  if (await findConnectorRow(ctx.db, ctx.tenant.id, slug))
    throw fail('unique_violation', { detail: `A connector ${slug} already exists.` });
  const row: ConnectorRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    slug,
    name: input.name,
    kind: input.kind,
    description: input.description,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  await insertConnectorRow(ctx.db, row);
  const after = auditedFields(row);
  ctx.audit({ action: 'connectors.create', target: auditTarget(row), before: null, after });
  return connectorRecord(row);
}

export async function updateConnector(
  ctx: TenantMutationCtx,
  input: { connector: string; set: z.output<typeof updateConnectorShape.body> },
) {
  const row = orNotFound(await lockConnectorRow(ctx.db, ctx.tenant.id, input.connector));
  const before = { name: row.name, description: row.description };
  const after = { name: input.set.name ?? row.name, description: input.set.description ?? row.description };
  ctx.audit({ action: 'connectors.update', target: auditTarget(row), before, after });
  if (isDeepEqual(before, after)) return connectorRecord(row);
  await updateConnectorRow(ctx.db, row.id, { ...after, updated_at: ctx.now });
  return connectorRecord({ ...row, ...after, updated_at: ctx.now });
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
  ctx.audit({
    action: 'connectors.delete',
    target: auditTarget(row),
    before: auditedFields(row),
    after: null,
  });
}

export async function findConnectorId(db: Db, tenantId: string, ref: string): Promise<string | null> {
  return (await findConnectorRow(db, tenantId, ref))?.id ?? null;
}

export async function describeConnectors(db: Db, tenantId: string, ids: readonly string[]) {
  const rows = await findConnectorRows(db, tenantId, ids);
  return rows.map((row) => ({ id: row.id, ...auditedFields(row) }));
}
