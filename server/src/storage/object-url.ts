import { objectsPrefix } from '@svc/contract/storage.ts';
import { signUrlToken, type UrlClaims } from '../plumbing/signed-url.ts';
import { fileNameOf } from './rules.ts';

interface OfObject extends UrlClaims {
  tenant: string;
  /** By id: a name that is given to another app leads nowhere. */
  app: string;
  key: string;
  /** The user whose right it is, for as long as they have it. */
  issuer: string;
}
export type DownloadClaims = OfObject & { purpose: 'object.get' };
export type UploadClaims = OfObject & {
  purpose: 'object.put';
  content_type: string;
  /** To the byte, where it is known beforehand. */
  size?: number;
};
export type ObjectClaims = DownloadClaims | UploadClaims;

export interface UrlSigning {
  baseUrl: string;
  /** Shared by all copies of the server. */
  urlKey: string;
}

/** The name at the end is for people and for what they save it as; the token alone counts. */
export function objectUrl({ baseUrl, urlKey }: UrlSigning, claims: ObjectClaims): string {
  const name = encodeURIComponent(fileNameOf(claims.key));
  return `${baseUrl}${objectsPrefix}${signUrlToken(urlKey, claims)}/${name}`;
}

/** In whole seconds, as the token has it. */
export function expiryOf(now: Date, seconds: number): { expires: number; expires_at: string } {
  const expires = Math.floor(now.getTime() / 1000) + seconds;
  return { expires, expires_at: new Date(expires * 1000).toISOString() };
}
