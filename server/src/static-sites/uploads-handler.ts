import { uploadsPrefix } from '@svc/contract/static-sites.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { Db } from '../plumbing/db.ts';
import { type Failure, fail } from '../plumbing/problem.ts';
import type { Handle } from '../plumbing/serve.ts';
import { readUrlToken } from '../plumbing/signed-url.ts';
import type { Issuer } from '../storage/issuer-access.ts';
import { receiveBlob } from './receive-blob.ts';
import type { UploadClaims } from './upload-grant.ts';

export interface UploadParts {
  db: Db;
  objects: ObjectStore;
  urlKey: string;
  now: () => Date;
  issuerAccess: (claims: Pick<UploadClaims, 'tenant' | 'app' | 'issuer'>) => Promise<Issuer | null>;
}

/** Answers `/uploads/<token>/<sum>`. Who holds the address may send the files of one draft, while its issuer could. */
export function createUploadsHandler(parts: UploadParts): Handle {
  return async (request, url, info) => {
    info.setRoute('uploads');
    if (request.method !== 'PUT') throw fail('method_not_allowed', { headers: { allow: 'PUT' } });
    const { claims, sha256 } = askedFor(parts, url.pathname);
    return receiveBlob(parts, { claims, sha256, request, info });
  };
}

function askedFor({ urlKey, now }: UploadParts, path: string): { claims: UploadClaims; sha256: string } {
  const [token = '', sha256 = '', ...more] = path.slice(uploadsPrefix.length).split('/');
  const claims = more.length > 0 ? null : readUrlToken<UploadClaims>(urlKey, token, now());
  if (claims === 'expired') throw fail('url_expired');
  // Other things are signed with the same key.
  if (claims?.purpose !== 'release.put') throw notGood();
  return { claims, sha256 };
}

function notGood(): Failure {
  return fail('forbidden', { detail: 'This address is not one that was made here for this.' });
}
