import { findApp } from '../apps/find-app.ts';
import { userTag } from '../identity/tags.ts';
import type { TaggedCache } from '../plumbing/cache.ts';
import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { isEnough } from '../plumbing/is-enough.ts';
import { appTag } from '../tables/catalogue.ts';
import { findMember } from '../tenants/find-member.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import type { ObjectClaims } from './object-url.ts';

/** Whoever made an address, and what they are at this moment to the tenant and the app that it leads into. */
export interface Issuer {
  caller: Caller;
  tenant: TenantAccess;
  app: AppAccess;
}

/** Null where they may no longer: suspended, no member or no owner any more, or the app is gone. */
export function createIssuerAccess({ db, cache }: { db: Db; cache: TaggedCache<Issuer> }) {
  return ({ tenant, app, issuer }: Pick<ObjectClaims, 'tenant' | 'app' | 'issuer'>): Promise<Issuer | null> =>
    cache.get(`${tenant} ${app} ${issuer}`, async () => {
      const value = await findIssuer(db, { tenantRef: tenant, appRef: app, userId: issuer });
      return value && { value, tags: [appTag(value.app.id), userTag(value.caller.userId)] };
    });
}

async function findIssuer(
  db: Db,
  { tenantRef, appRef, userId }: { tenantRef: string; appRef: string; userId: string },
): Promise<Issuer | null> {
  const found = await findTenant({ db }, { ref: tenantRef });
  const member = found && (await findMember(db, found.id, userId));
  if (!found || member?.status !== 'active') return null;
  const { id, slug, name } = found;
  const tenant: TenantAccess = { id, slug, name, role: member.role };
  // Not a credential: the address is one, and is good for one thing alone.
  const caller: Caller = {
    kind: 'login',
    userId,
    email: member.email,
    name: member.email,
    credentialId: '',
    expiresAt: new Date(0),
  };
  const app = await findApp(db, tenant, { ref: appRef, caller });
  return app && isEnough('owners', app, tenant) ? { caller, tenant, app } : null;
}
