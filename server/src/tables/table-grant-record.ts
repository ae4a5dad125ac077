import type { TableGrant } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import type { TableGrantRow } from './grants-store.ts';

export function tableGrantRecord(row: TableGrantRow): z.output<typeof TableGrant> {
  return {
    id: row.id,
    table_id: row.table_id,
    principal_type: row.principal_type,
    principal_id: row.principal_id,
    actions: row.actions,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
  };
}

/** What a plan and the audit say of a grant. */
export function auditedTableGrant(
  table: { name: string },
  { principal_type, principal_id, actions }: TableGrantRow,
): Record<string, unknown> {
  return { table: table.name, principal_type, principal_id, actions };
}
