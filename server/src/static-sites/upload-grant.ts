import { uploadGrantSeconds, uploadsPrefix } from '@svc/contract/static-sites.ts';
import { signUrlToken, type UrlClaims } from '../plumbing/signed-url.ts';
import { expiryOf } from '../storage/object-url.ts';
import type { FileRow } from './file-store.ts';
import type { SitePlaces } from './site-urls.ts';

/** The right to send the files of one draft, for a while. */
export interface UploadClaims extends UrlClaims {
  purpose: 'release.put';
  release: string;
  /** By id, like the tenant: a name that is given to another leads nowhere. */
  app: string;
  tenant: string;
  /** The user whose right it is, for as long as they have it. */
  issuer: string;
}

/** What the routes are given: where sites are, and what addresses are signed with. */
export interface SiteParts extends SitePlaces {
  urlKey: string;
}

export function uploadGrant(
  { baseUrl, urlKey }: SiteParts,
  now: Date,
  claims: Omit<UploadClaims, 'purpose' | 'expires'>,
): { upload_url: string; upload_expires_at: string } {
  const { expires, expires_at } = expiryOf(now, uploadGrantSeconds);
  const token = signUrlToken<UploadClaims>(urlKey, { purpose: 'release.put', expires, ...claims });
  return { upload_url: `${baseUrl}${uploadsPrefix}${token}/`, upload_expires_at: expires_at };
}

export function missingAnswer(missing: readonly Pick<FileRow, 'sha256' | 'size'>[]) {
  return {
    missing: missing.map(({ sha256 }) => sha256),
    missing_bytes: missing.reduce((sum, { size }) => sum + size, 0),
  };
}
