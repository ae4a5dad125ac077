import { grantsPerTableMax } from '@svc/contract/columns.ts';
import type { issueTableGrant as shape, TableGrant } from '@svc/contract/tables.shapes.ts';
import type { principalTypes, tableActions } from '@svc/contract/tables.ts';
import type { z } from 'zod';
import { loadAppNames } from '../../apps/app-names.ts';
import { recheckApp } from '../../apps/record/app-access.ts';
import { findApp } from '../../apps/record/find-app.ts';
import type { AppCtx, AppMutationCtx, AppRef, AuditedChange, MutationCtx } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { countRows, type PageQuery, paginate } from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { tableTag } from '../../core/tags.ts';
import { isUuid } from '../../core/values.ts';
import { findGroups, lockGroupForShare } from '../../people/groups/groups.ts';
import { lockMemberForShare } from '../../people/tenants/members.ts';
import { findUsers } from '../../people/users/users.ts';
import { lockTable, requireTable } from './lock-table.ts';

export interface TableGrantRow {
  id: string;
  tenant_id: string;
  app_id: string;
  table_id: string;
  principal_type: (typeof principalTypes)[number];
  principal_id: string;
  actions: (typeof tableActions)[number][];
  created_by: string;
  created_at: Date;
}
type Tables = { table_grants: TableGrantRow };

export function listTableGrantRows(db: Db, tenantId: string, tableId: string): Promise<TableGrantRow[]> {
  return grantsQuery(db, tenantId)
    .selectAll()
    .where('table_id', '=', tableId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** Sorted by id, because PostgreSQL returns deleted rows in any order and equal previews must be equal. */
async function deletePrincipalGrantRows(
  tx: Tx,
  tenantId: string,
  principal: { type: 'user' | 'app' | 'group'; id: string },
): Promise<(TableGrantRow & { table: string })[]> {
  const rows = await tx
    .withTables<Tables & { app_tables: { id: string; name: string } }>()
    .deleteFrom('table_grants')
    .using('app_tables')
    .whereRef('app_tables.id', '=', 'table_grants.table_id')
    .where('table_grants.tenant_id', '=', tenantId)
    .where('table_grants.principal_type', '=', principal.type)
    .where('table_grants.principal_id', '=', principal.id)
    .returningAll('table_grants')
    .returning('app_tables.name as table')
    .execute();
  return rows.sort((one, other) => (one.id < other.id ? -1 : 1));
}

export function countAppGrants(db: Db, tenantId: string, appId: string): Promise<number> {
  return countRows(grantsQuery(db, tenantId).where('app_id', '=', appId));
}

export async function countGrantsByTable(db: Db, app: AppRef): Promise<ReadonlyMap<string, number>> {
  const rows = await grantsQuery(db, app.tenantId)
    .select(['table_id', (e) => e.fn.countAll<number>().as('total')])
    .where('app_id', '=', app.appId)
    .groupBy('table_id')
    .execute();
  return new Map(rows.map((row) => [row.table_id, row.total]));
}

export async function insertTableGrantRow(tx: Tx, row: TableGrantRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('table_grants').values(row).execute();
}

/** Takes no lock on the table: a revocation never waits for a schema change. */
function deleteTableGrantRow(tx: Tx, tenantId: string, { tableId, id }: { tableId: string; id: string }) {
  return tx
    .withTables<Tables>()
    .deleteFrom('table_grants')
    .where((e) => e.and({ tenant_id: tenantId, table_id: tableId, id }))
    .returningAll()
    .executeTakeFirst();
}

function grantsQuery(db: Db, tenantId: string) {
  return db.withTables<Tables>().selectFrom('table_grants').where('tenant_id', '=', tenantId);
}

export interface TableGrantEntry {
  id: string;
  principalType: TableGrantRow['principal_type'];
  principalId: string;
  actions: readonly TableGrantRow['actions'][number][];
}

export function listTableGrantEntries(db: Db, tableId: string): Promise<TableGrantEntry[]> {
  return db
    .withTables<Tables>()
    .selectFrom('table_grants')
    .select(['id', 'principal_type as principalType', 'principal_id as principalId', 'actions'])
    .where('table_id', '=', tableId)
    .execute();
}

export function listAppGrantEntries(
  db: Db,
  { tenantId, appId }: AppRef,
): Promise<(TableGrantEntry & { table_id: string })[]> {
  return grantsQuery(db, tenantId)

    .select(['id', 'table_id', 'principal_type as principalType', 'principal_id as principalId', 'actions'])
    .where('app_id', '=', appId)
    .execute();
}

export async function listTableGrants(ctx: AppCtx, input: { table: string; query: PageQuery }) {
  const table = await requireTable(ctx, input.table);
  const rows = await listTableGrantRows(ctx.db, ctx.tenant.id, table.id);
  return paginate(input.query, await tableGrantRecords(ctx, rows));
}

type Principal = Pick<z.output<typeof shape.body>, 'principal_type' | 'principal_id'>;

export async function issueTableGrant(
  ctx: AppMutationCtx,
  input: { table: string; grant: z.output<typeof shape.body> },
): Promise<TableGrantRecord> {
  const table = await lockTable(ctx, input.table);
  const { principal_type, actions } = input.grant;
  const principal_id = await resolvePrincipalId(ctx, input.grant);
  const grants = await listTableGrantRows(ctx.db, ctx.tenant.id, table.id);
  const existing = grants.find(
    (row) => row.principal_type === principal_type && row.principal_id === principal_id,
  );
  if (existing) {
    throw fail('unique_violation', { detail: `Grant ${existing.id} already exists. Revoke it first.` });
  }
  if (grants.length >= grantsPerTableMax) {
    throw fail('limit_reached', { detail: `A table can have at most ${grantsPerTableMax} grants.` });
  }
  const row: TableGrantRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    app_id: ctx.app.id,
    table_id: table.id,
    principal_type,
    principal_id,
    actions,
    created_by: ctx.caller.userId,
    created_at: ctx.now,
  };
  await insertTableGrantRow(ctx.db, row);
  ctx.audit(grantChange('issue', row, table.name));
  ctx.invalidate(tableTag(table.id));
  const [record] = await tableGrantRecords(ctx, [row]);
  if (!record) throw new Error('The new grant has no record.');
  return record;
}

async function resolvePrincipalId(ctx: AppMutationCtx, { principal_type, principal_id }: Principal) {
  switch (principal_type) {
    case 'user': {
      const member = await lockMemberForShare(ctx.db, ctx.tenant.id, principal_id);
      if (member?.status !== 'active')
        throw validationError('principal_id', 'is not an active member of the tenant');
      return member.userId;
    }
    case 'app': {
      const app = await findApp(ctx.db, ctx.tenant, { ref: principal_id, caller: ctx.caller });
      if (!app) throw validationError('principal_id', 'is not an app of the tenant that you can see');
      if (app.id === ctx.app.id)
        throw validationError('principal_id', 'is the app itself, which always has access to its tables');
      // Nobody has reviewed the code of a branch.
      if (app.previewOf !== null) throw validationError('principal_id', 'is the preview of a branch');
      return app.id;
    }
    case 'group': {
      const group = await lockGroupForShare(ctx.db, ctx.tenant.id, principal_id);
      if (!group) throw validationError('principal_id', 'is not a group of the tenant');
      return group.id;
    }
    case 'role':
      if (grantableRoles.includes(principal_id)) return principal_id;
      throw validationError('principal_id', `must be ${grantableRoles.join(' or ')}`);
  }
}

const grantableRoles: readonly string[] = ['tenant_member', 'tenant_admin'];

export async function revokeTableGrant(
  ctx: AppMutationCtx,
  input: { table: string; grantId: string },
): Promise<undefined> {
  await recheckApp(ctx, { required: 'owners_or_admin' });
  const table = await requireTable(ctx, input.table);
  if (!isUuid(input.grantId)) throw fail('not_found');
  const row = orNotFound(
    await deleteTableGrantRow(ctx.db, ctx.tenant.id, { tableId: table.id, id: input.grantId }),
  );
  ctx.audit(grantChange('revoke', row, table.name));
  ctx.invalidate(tableTag(table.id));
}

/** Returns the changes, which the caller audits. */
export async function revokePrincipalGrants(
  ctx: MutationCtx,
  tenantId: string,
  principal: { type: 'user' | 'app' | 'group'; id: string },
): Promise<AuditedChange[]> {
  const rows = await deletePrincipalGrantRows(ctx.db, tenantId, principal);
  for (const row of rows) ctx.invalidate(tableTag(row.table_id));
  return rows.map((row) => grantChange('revoke', row, row.table));
}

type TableGrantRecord = z.output<typeof TableGrant>;

async function tableGrantRecords(
  ctx: Pick<AppCtx, 'db' | 'tenant'>,
  rows: readonly TableGrantRow[],
): Promise<TableGrantRecord[]> {
  const principalIds = (type: TableGrantRow['principal_type']) =>
    rows.filter(({ principal_type }) => principal_type === type).map(({ principal_id }) => principal_id);
  const users = await findUsers(ctx, { ids: principalIds('user') });
  const apps = await loadAppNames(ctx.db, ctx.tenant.id, principalIds('app'));
  const groups = await findGroups(ctx.db, ctx.tenant.id, principalIds('group'));
  const principalNames: Record<TableGrantRow['principal_type'], (id: string) => string> = {
    user: (id) => users.get(id)?.email ?? '',
    app: (id) => apps.get(id)?.slug ?? '',
    role: (id) => id,
    group: (id) => groups.find((group) => group.id === id)?.name ?? '',
  };
  return rows.map((row) => ({
    id: row.id,
    table_id: row.table_id,
    principal_type: row.principal_type,
    principal_id: row.principal_id,
    principal_name: principalNames[row.principal_type](row.principal_id),
    actions: row.actions,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
  }));
}

function grantChange(change: 'issue' | 'revoke', row: TableGrantRow, table: string): AuditedChange {
  const { id, app_id, principal_type, principal_id, actions } = row;
  const grant = { table, principal_type, principal_id, actions };
  return {
    action: `tableGrants.${change}`,
    appId: app_id,
    target: { kind: 'table_grant', id, name: table },
    before: change === 'revoke' ? grant : null,
    after: change === 'issue' ? grant : null,
  };
}
