import type { AuditedChange, MutationCtx } from '../plumbing/context.ts';
import { tableTag } from './catalogue.ts';
import { deleteTableGrantRowsOf } from './grants-store.ts';
import { auditedTableGrant } from './table-grant-record.ts';

/** All tables of others that an app was let into, as it goes for good. What is to be audited is answered. */
export async function takeAppFromTableGrants(
  ctx: MutationCtx,
  { tenantId, appId }: { tenantId: string; appId: string },
): Promise<AuditedChange[]> {
  const rows = await deleteTableGrantRowsOf(ctx.db, tenantId, { type: 'app', id: appId });
  for (const row of rows) ctx.changed(tableTag(row.table_id));
  return rows.map((row) => ({
    action: 'tableGrants.revoke',
    appId: row.app_id,
    target: { kind: 'table_grant', id: row.id, name: row.table },
    before: auditedTableGrant({ name: row.table }, row),
    after: null,
  }));
}
