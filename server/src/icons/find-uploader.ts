import { findApp } from '../apps/find-app.ts';
import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { isEnough } from '../plumbing/is-enough.ts';
import { findMember } from '../tenants/find-member.ts';
import { findTenant } from '../tenants/find-tenant.ts';
import { type IconClaims, mayNoMore } from './claims.ts';

export interface Uploader {
  caller: Caller;
  tenant: TenantAccess;
  /** Absent where the icon comes before its app. */
  app?: AppAccess;
}

/** Who the address was given to, as they are now. */
export async function findUploader(db: Db, claims: IconClaims): Promise<Uploader> {
  const tenant = await findTenant({ db }, { ref: claims.tenant });
  if (!tenant) throw mayNoMore();
  const { id, slug, name } = tenant;
  const member = await findMember(db, id, claims.user);
  if (member?.status !== 'active') throw mayNoMore();
  const place: TenantAccess = { id, slug, name, role: member.role };
  const caller: Caller = {
    kind: 'login',
    userId: member.userId,
    email: member.email,
    name: member.email,
    credentialId: claims.id,
    expiresAt: new Date(claims.expires * 1000),
  };
  if (claims.app === null) return { caller, tenant: place };
  const app = await findApp(db, place, { ref: claims.app, caller });
  if (!app || !isEnough('owners', app, place)) throw mayNoMore();
  return { caller, tenant: place, app };
}
