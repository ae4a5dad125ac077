import { objectsPrefix } from '@svc/contract/storage.ts';
import { findApp } from '../../apps/record/find-app.ts';
import type { TaggedCache } from '../../core/cache.ts';
import {
  type AppAccess,
  type AppRef,
  type Caller,
  satisfiesRelation,
  type TenantAccess,
} from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { LiveKey } from '../../core/keys.ts';
import type { MutationBase } from '../../core/mutation.ts';
import { appTag, userTag } from '../../core/tags.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import { signUrlToken, type UrlClaims } from '../../http/signed-url.ts';
import { findAppPrincipal } from '../../identity/app-identity/app-tokens.ts';
import { findMember } from '../../people/tenants/members.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { fileName } from './storage.ts';

interface CommonClaims extends UrlClaims {
  tenant: string;
  /** The app's id: its slug may later belong to another app. */
  app: string;
  key: string;
  issuer: string;
}
export type DownloadClaims = CommonClaims & { purpose: 'object.get' };
export type UploadClaims = CommonClaims & {
  purpose: 'object.put';
  content_type: string;
  size?: number;
};
/** For a file of a row: whoever may write the column may upload it. */
export type FileUploadClaims = CommonClaims & {
  purpose: 'file.put';
  content_type: string;
  size: number;
  file: string;
};
export type PutClaims = UploadClaims | FileUploadClaims;
export type ObjectClaims = DownloadClaims | PutClaims;

export interface UrlSigning {
  baseUrl: string;
  urlKey: LiveKey<string>;
}

type SignedObject =
  | Pick<DownloadClaims, 'purpose' | 'key'>
  | Pick<UploadClaims, 'purpose' | 'key' | 'content_type' | 'size'>
  | Pick<FileUploadClaims, 'purpose' | 'key' | 'content_type' | 'size' | 'file'>;

export interface SignedBy {
  now: Date;
  tenant: { id: string };
  app: { id: string };
  caller: { userId: string };
}

export function signObjectUrl(
  { now, tenant, app, caller }: SignedBy,
  { baseUrl, urlKey }: UrlSigning,
  { expires_in, ...object }: SignedObject & { expires_in: number },
): { url: string; expires_at: string } {
  const { expires, expires_at } = urlExpiry(now, expires_in);
  const claims = { ...object, tenant: tenant.id, app: app.id, issuer: caller.userId, expires };
  const name = encodeURIComponent(fileName(object.key));
  return { url: `${baseUrl}${objectsPrefix}${signUrlToken(urlKey, claims)}/${name}`, expires_at };
}

export function urlExpiry(now: Date, seconds: number): { expires: number; expires_at: string } {
  const expires = Math.floor(now.getTime() / 1000) + seconds;
  return { expires, expires_at: new Date(expires * 1000).toISOString() };
}

export interface Issuer {
  caller: Caller;
  tenant: TenantAccess;
  app: AppAccess;
}

export interface ObjectsDeps extends Pick<MutationBase, 'outbox' | 'onCommitted' | 'events'> {
  db: Db;
  objects: ObjectStore;
  urlKey: LiveKey<string>;
  now: () => Date;
  issuerAccess: (claims: IssuerClaims) => Promise<Issuer | null>;
}

export function createIssuerAccess({ db, cache }: { db: Db; cache: TaggedCache<Issuer> }) {
  return ({ tenant, app, issuer, purpose }: IssuerClaims): Promise<Issuer | null> => {
    const action = purpose === 'file.put' ? 'file' : purpose.startsWith('object.') ? 'storage' : 'deploy';
    return cache.get(`${tenant} ${app} ${issuer} ${action}`, async () => {
      const value = await findIssuer(db, { tenantId: tenant, appId: app }, issuer, action);
      return value && { value, tags: [appTag(value.app.id), userTag(value.caller.userId)] };
    });
  };
}

export type IssuerClaims = Pick<CommonClaims, 'tenant' | 'app' | 'issuer' | 'purpose'>;

async function findIssuer(
  db: Db,
  ref: AppRef,
  issuerId: string,
  action: 'storage' | 'deploy' | 'file',
): Promise<Issuer | null> {
  const found = await findTenant({ db }, { ref: ref.tenantId });
  if (!found) return null;
  const { id, slug, name } = found;
  const issuer = await findIssuerCaller(db, ref, issuerId);
  if (!issuer || (action !== 'file' && issuer.scope && !issuer.scope.actions.includes(action))) return null;
  const { role, ...principal } = issuer;
  const tenant: TenantAccess = { id, slug, name, role };
  const caller: Caller = { ...principal, credentialId: '', expiresAt: new Date(0) };
  const app = await findApp(db, tenant, { ref: ref.appId, caller });
  return app && (action === 'file' || satisfiesRelation('owners', app, tenant))
    ? { caller, tenant, app }
    : null;
}

async function findIssuerCaller(
  db: Db,
  ref: AppRef,
  id: string,
): Promise<(Omit<Caller, 'credentialId' | 'expiresAt'> & Pick<TenantAccess, 'role'>) | null> {
  const member = await findMember(db, ref.tenantId, id);
  if (member) {
    const { email, role } = member;
    return member.status === 'active' ? { kind: 'login', userId: id, email, name: email, role } : null;
  }
  const principal = await findAppPrincipal(db, ref, id);
  return principal && { ...principal, role: 'tenant_member' };
}
