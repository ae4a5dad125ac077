import type { MutationCtx } from '../plumbing/context.ts';
import { tableTag } from './catalogue.ts';
import { deleteTableGrantRowsOf } from './grants-store.ts';
import { auditedTableGrant } from './table-grant-record.ts';

/** All tables that one person was let into, as they leave the tenant: coming back, they begin with none. */
export async function revokeTableGrantsOf(
  ctx: MutationCtx,
  input: { tenantId: string; userId: string },
): Promise<void> {
  for (const row of await deleteTableGrantRowsOf(ctx.db, input.tenantId, {
    type: 'user',
    id: input.userId,
  })) {
    ctx.audit({
      action: 'tableGrants.revoke',
      appId: row.app_id,
      target: { kind: 'table_grant', id: row.id, name: row.table },
      before: auditedTableGrant({ name: row.table }, row),
      after: null,
    });
    ctx.changed(tableTag(row.table_id));
  }
}
