import type { TableGrant } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import { appNames } from '../apps/app-names.ts';
import type { AppCtx } from '../plumbing/context.ts';
import { findUsers } from '../users/find-users.ts';
import type { TableGrantRow } from './grants-store.ts';

export type TableGrantRecord = z.output<typeof TableGrant>;

/** With what people call those who are let in. All of one tenant. */
export async function tableGrantRecords(
  ctx: Pick<AppCtx, 'db' | 'tenant'>,
  rows: readonly TableGrantRow[],
): Promise<TableGrantRecord[]> {
  const idsOf = (type: TableGrantRow['principal_type']) =>
    rows.filter(({ principal_type }) => principal_type === type).map(({ principal_id }) => principal_id);
  const users = await findUsers(ctx, { ids: idsOf('user') });
  const apps = await appNames(ctx.db, ctx.tenant.id, idsOf('app'));
  const nameOf: Record<TableGrantRow['principal_type'], (id: string) => string> = {
    user: (id) => users.get(id)?.email ?? '',
    app: (id) => apps.get(id)?.slug ?? '',
    role: (id) => id,
  };
  return rows.map((row) => ({
    id: row.id,
    table_id: row.table_id,
    principal_type: row.principal_type,
    principal_id: row.principal_id,
    principal_name: nameOf[row.principal_type](row.principal_id),
    actions: row.actions,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
  }));
}

/** What a plan and the audit say of a grant. */
export function auditedTableGrant(
  table: { name: string },
  { principal_type, principal_id, actions }: TableGrantRow,
): Record<string, unknown> {
  return { table: table.name, principal_type, principal_id, actions };
}
