import { grantsPerTableMax } from '@svc/contract/columns.ts';
import type { issueTableGrant as shape, TableGrant } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import { loadAppNames } from '../../apps/app-names.ts';
import { recheckApp } from '../../apps/record/app-access.ts';
import { findApp } from '../../apps/record/find-app.ts';
import type { AppCtx, AppMutationCtx, AuditedChange, MutationCtx } from '../../core/context.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail, orNotFound, validationError } from '../../core/problem.ts';
import { tableTag } from '../../core/tags.ts';
import { isUuid } from '../../core/values.ts';
import { findGroups, lockGroupForShare } from '../../people/groups/groups.ts';
import { lockMemberForShare } from '../../people/tenants/members.ts';
import { findUsers } from '../../people/users/users.ts';
import { lockTable, requireTable } from './lock-table.ts';
import {
  deletePrincipalGrantRows,
  deleteTableGrantRow,
  insertTableGrantRow,
  listTableGrantRows,
  type TableGrantRow,
} from './store.ts';

export { listTableGrantEntries, type TableGrantEntry } from './store.ts';

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
