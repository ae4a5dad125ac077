import { createHmac, timingSafeEqual } from 'node:crypto';

/** A valid signature is not an authorization: the handler must check the issuer's rights again. */
export interface UrlClaims {
  purpose: string;
  /** Unix seconds. */
  expires: number;
}

/** Domain separation: no other signature made with the key is valid for a URL. */
const signatureContext = 'svc.url.1.';

export function signUrlToken<C extends UrlClaims>(key: string, claims: C): string {
  const body = Buffer.from(JSON.stringify(claims)).toString('base64url');
  return `${body}.${hmac(key, body).toString('base64url')}`;
}

export function verifyUrlToken<C extends UrlClaims>(
  key: string,
  token: string,
  now: Date,
): C | 'expired' | null {
  const [body, signature, ...more] = token.split('.');
  if (!body || !signature || more.length > 0) return null;
  const actual = Buffer.from(signature, 'base64url');
  const expected = hmac(key, body);
  // Also compared as text: base64url has unused bits, and a token must have one spelling.
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return null;
  if (signature !== expected.toString('base64url')) return null;
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as C;
  return claims.expires * 1000 <= now.getTime() ? 'expired' : claims;
}

function hmac(key: string, body: string): Buffer {
  return createHmac('sha256', key).update(signatureContext).update(body).digest();
}
