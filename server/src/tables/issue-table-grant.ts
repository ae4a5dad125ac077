import { grantsPerTableMax } from '@svc/contract/columns.ts';
import type { issueTableGrant as shape } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import { findApp } from '../apps/find-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { holdMember } from '../tenants/find-member.ts';
import { tableTag } from './catalogue.ts';
import { insertTableGrantRow, listTableGrantRows, type TableGrantRow } from './grants-store.ts';
import { lockTable } from './lock-table.ts';
import { auditedTableGrant, type TableGrantRecord, tableGrantRecords } from './table-grant-record.ts';

type Principal = Pick<z.output<typeof shape.body>, 'principal_type' | 'principal_id'>;

export async function issueTableGrant(
  ctx: AppMutationCtx,
  input: { table: string; grant: z.output<typeof shape.body> },
): Promise<TableGrantRecord> {
  const table = await lockTable(ctx, input.table);
  const { principal_type, actions } = input.grant;
  const principal_id = await principalId(ctx, input.grant);
  const present = await listTableGrantRows(ctx.db, ctx.tenant.id, table.id);
  const same = present.find(
    (row) => row.principal_type === principal_type && row.principal_id === principal_id,
  );
  if (same) {
    throw fail('unique_violation', { detail: `Grant ${same.id} is there already; revoke it first.` });
  }
  if (present.length >= grantsPerTableMax) {
    throw fail('limit_reached', { detail: `A table has at most ${grantsPerTableMax} grants.` });
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
  ctx.audit({
    action: 'tableGrants.issue',
    appId: ctx.app.id,
    target: { kind: 'table_grant', id: row.id, name: table.name },
    before: null,
    after: auditedTableGrant(table, row),
  });
  ctx.changed(tableTag(table.id));
  const [record] = await tableGrantRecords(ctx, [row]);
  if (!record) throw new Error('One row is one record.');
  return record;
}

/** Of the same tenant always: rows reach nobody outside it. */
async function principalId(
  ctx: AppMutationCtx,
  { principal_type, principal_id }: Principal,
): Promise<string> {
  switch (principal_type) {
    case 'user': {
      const member = await holdMember(ctx.db, ctx.tenant.id, principal_id);
      if (member?.status !== 'active') throw invalid('principal_id', 'is no active member of the tenant');
      return member.userId;
    }
    case 'app': {
      const app = await findApp(ctx.db, ctx.tenant, { ref: principal_id, caller: ctx.caller });
      if (!app) throw invalid('principal_id', 'is no app of the tenant that you can see');
      if (app.id === ctx.app.id) throw invalid('principal_id', 'is the app itself, which reaches its tables');
      return app.id;
    }
    case 'role':
      if (roles.includes(principal_id)) return principal_id;
      throw invalid('principal_id', `must be ${roles.join(' or ')}`);
  }
}

const roles: readonly string[] = ['tenant_member', 'tenant_admin'];
