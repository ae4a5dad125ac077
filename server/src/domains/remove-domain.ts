import { confirmApp } from '../apps/confirm-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { appTag } from '../tables/catalogue.ts';
import { domainsTag } from './list-active-hosts.ts';
import { deleteDomainRow, lockDomainRow } from './store.ts';

/** Its certificate goes with its row. Whoever adds the host anew, here or elsewhere, has a new record to publish. */
export async function removeDomain(ctx: AppMutationCtx, { id }: { id: string }): Promise<undefined> {
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  const row = await lockDomainRow(ctx.db, place, id);
  await confirmApp(ctx, { wanted: 'owners_or_admin' });
  // A second remove exits 5 by the specification, so that scripts can tell "gone" from "failed".
  if (!row) throw fail('not_found');
  await deleteDomainRow(ctx.db, place, row.id);
  ctx.audit({
    action: 'domains.remove',
    appId: ctx.app.id,
    target: { kind: 'domain', id: row.id, name: row.host },
    before: { host: row.host, status: row.status },
    after: null,
  });
  if (row.status === 'active') ctx.warn(`${row.host} is no longer served, at once.`);
  ctx.changed(domainsTag);
  ctx.changed(appTag(ctx.app.id));
}
