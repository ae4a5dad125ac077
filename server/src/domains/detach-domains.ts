import type { AppPlace } from '../plumbing/app-place.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { appTag } from '../tables/catalogue.ts';
import { domainsTag } from './list-active-hosts.ts';
import { deleteDomainRow, listDomainRows } from './store.ts';

/** All of an app that is deleted. They do not come back with it: their hosts may be another's by then. */
export async function detachDomains(ctx: MutationCtx, place: AppPlace): Promise<{ hosts: string[] }> {
  const rows = await listDomainRows(ctx.db, place);
  for (const { id } of rows) await deleteDomainRow(ctx.db, place, id);
  if (rows.length > 0) {
    ctx.changed(domainsTag);
    ctx.changed(appTag(place.appId));
  }
  return { hosts: rows.map(({ host }) => host) };
}
