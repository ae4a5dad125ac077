import { objectsPrefix } from '@svc/contract/storage.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { Db } from '../plumbing/db.ts';
import type { MutationBase } from '../plumbing/mutation.ts';
import { type Failure, fail } from '../plumbing/problem.ts';
import type { Handle } from '../plumbing/serve.ts';
import { readUrlToken } from '../plumbing/signed-url.ts';
import type { Issuer } from './issuer-access.ts';
import type { ObjectClaims } from './object-url.ts';
import { receiveObject } from './receive-object.ts';
import { sendObject } from './send-object.ts';

export interface ObjectParts extends Pick<MutationBase, 'outbox' | 'onCommitted'> {
  db: Db;
  objects: ObjectStore;
  urlKey: string;
  now: () => Date;
  issuerAccess: (claims: ObjectClaims) => Promise<Issuer | null>;
}

/** Answers `/objects/<token>/<name>`. Who holds the address may use it for as long as its issuer could. */
export function createObjectsHandler(parts: ObjectParts): Handle {
  return async (request, url, info) => {
    info.setRoute('objects');
    const { method } = request;
    if (method !== 'GET' && method !== 'HEAD' && method !== 'PUT')
      throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD, PUT' } });
    const claims = claimsOf(parts, url.pathname);
    // Other things are signed with the same key.
    if (claims.purpose !== (method === 'PUT' ? 'object.put' : 'object.get')) throw notGood();
    const issuer = await parts.issuerAccess(claims);
    if (!issuer) throw fail('forbidden', { detail: 'Whoever made this address may no longer do this.' });
    return claims.purpose === 'object.put'
      ? receiveObject(parts, { claims, issuer, request, info })
      : sendObject(parts, { claims, request, info });
  };
}

function claimsOf({ urlKey, now }: ObjectParts, path: string): ObjectClaims {
  const [token = '', , ...more] = path.slice(objectsPrefix.length).split('/');
  const claims = more.length > 0 ? null : readUrlToken<ObjectClaims>(urlKey, token, now());
  if (claims === 'expired') throw fail('url_expired');
  if (!claims) throw notGood();
  return claims;
}

function notGood(): Failure {
  return fail('forbidden', { detail: 'This address is not one that was made here for this.' });
}
