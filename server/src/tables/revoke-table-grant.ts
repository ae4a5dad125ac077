import { confirmApp } from '../apps/confirm-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { isUuid } from '../plumbing/ref.ts';
import { tableTag } from './catalogue.ts';
import { findTable } from './find-table.ts';
import { deleteTableGrantRow } from './grants-store.ts';
import { auditedTableGrant } from './table-grant-record.ts';

/** Also where the app is archived: to end what somebody may reach is never out of place. */
export async function revokeTableGrant(
  ctx: AppMutationCtx,
  input: { table: string; grantId: string },
): Promise<undefined> {
  await confirmApp(ctx, { wanted: 'owners_or_admin' });
  const table = await findTable(ctx, input.table);
  if (!isUuid(input.grantId)) throw fail('not_found');
  const row = await deleteTableGrantRow(ctx.db, ctx.tenant.id, { tableId: table.id, id: input.grantId });
  if (!row) throw fail('not_found');
  ctx.audit({
    action: 'tableGrants.revoke',
    appId: ctx.app.id,
    target: { kind: 'table_grant', id: row.id, name: table.name },
    before: auditedTableGrant(table, row),
    after: null,
  });
  ctx.changed(tableTag(table.id));
}
