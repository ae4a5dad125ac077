import { createHmac, timingSafeEqual } from 'node:crypto';
import { declareKey, type LiveKey } from '../core/keys.ts';

/** A valid signature is not an authorization: the handler must check the issuer's rights again. */
export interface UrlClaims {
  purpose: string;
  expires: number;
}

export const urlSigningKey = declareKey({
  name: 'url.signing_key',
  protects: 'Signed URLs for uploads and downloads',
  acceptedSeconds: 24 * 3600,
});

/** Domain separation: no other signature made with the key is valid for a URL. */
const signatureContext = 'svc.url.1.';

export function signUrlToken<C extends UrlClaims>(key: LiveKey<string>, claims: C): string {
  const body = Buffer.from(JSON.stringify(claims)).toString('base64url');
  return `${body}.${hmac(key.current(), body).toString('base64url')}`;
}

export function verifyUrlToken<C extends UrlClaims>(
  key: LiveKey<string>,
  token: string,
  now: Date,
): C | 'expired' | null {
  const [body, signature, ...more] = token.split('.');
  if (!body || !signature || more.length > 0) return null;
  if (!key.accepted().some((each) => isSignature(signature, hmac(each, body)))) return null;
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as C;
  return claims.expires * 1000 <= now.getTime() ? 'expired' : claims;
}

/** Also compared as text: base64url has unused bits, and a token must have one spelling. */
function isSignature(text: string, expected: Buffer): boolean {
  const actual = Buffer.from(text, 'base64url');
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return false;
  return text === expected.toString('base64url');
}

function hmac(key: string, body: string): Buffer {
  return createHmac('sha256', key).update(signatureContext).update(body).digest();
}
