import { findAppBySubdomain } from '../apps/find-app-by-subdomain.ts';
import type { Db } from '../plumbing/db.ts';
import { noUuid } from '../plumbing/ref.ts';
import { mayVisit } from './may-visit.ts';
import type { SiteTarget } from './site-target.ts';

/** Which app a custom domain that is active belongs to, by its id. */
export type AppAtDomain = (db: Db, host: string) => Promise<string | null>;

/** The app behind an address, if the person may see it there; null alike for none and for one that is not for them. */
export async function findSiteFor(
  { db, appAtDomain }: { db: Db; appAtDomain: AppAtDomain },
  { target, userId }: { target: SiteTarget; userId: string },
): Promise<string | null> {
  const { place, host } = target;
  const appId =
    place.kind === 'domain' ? await appAtDomain(db, host) : await findAppBySubdomain({ db }, place);
  // Also asked where there is none, so that the time it takes tells nothing.
  const isFor = await mayVisit({ db }, { appId: appId ?? noUuid, userId, hostKind: place.kind });
  return isFor ? appId : null;
}
