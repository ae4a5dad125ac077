import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * What an address may be used for, signed by us and carried in the address itself. Signed does not mean allowed: who
 * honours a token asks once more whether its issuer still may.
 */
export interface UrlClaims {
  /** A token of one purpose is good for no other. */
  purpose: string;
  /** Unix seconds. */
  expires: number;
}

/** So that no other signature made with the key could ever pass for an address. */
const context = 'svc.url.1.';

export function signUrlToken<C extends UrlClaims>(key: string, claims: C): string {
  const body = Buffer.from(JSON.stringify(claims)).toString('base64url');
  return `${body}.${seal(key, body).toString('base64url')}`;
}

/** Null for a token that we did not sign; `expired` is told to nobody but the holder of one that we did. */
export function readUrlToken<C extends UrlClaims>(
  key: string,
  token: string,
  now: Date,
): C | 'expired' | null {
  const [body, signature, ...more] = token.split('.');
  if (!body || !signature || more.length > 0) return null;
  const given = Buffer.from(signature, 'base64url');
  const expected = seal(key, body);
  // Compared as text too: base64url has spare bits, and one token must not have two spellings.
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  if (signature !== expected.toString('base64url')) return null;
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as C;
  return claims.expires * 1000 <= now.getTime() ? 'expired' : claims;
}

function seal(key: string, body: string): Buffer {
  return createHmac('sha256', key).update(context).update(body).digest();
}
