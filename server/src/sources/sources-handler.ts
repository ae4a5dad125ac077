import { sourcesPrefix } from '@svc/contract/deployments.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { Db } from '../plumbing/db.ts';
import { fail } from '../plumbing/problem.ts';
import type { Handle } from '../plumbing/serve.ts';
import { readUrlToken } from '../plumbing/signed-url.ts';
import type { Issuer } from '../storage/issuer-access.ts';
import type { SourceClaims } from './grant-source-upload.ts';
import { receiveSource } from './receive-source.ts';

export interface SourceUploadParts {
  db: Db;
  objects: ObjectStore;
  urlKey: string;
  now: () => Date;
  issuerAccess: (claims: Pick<SourceClaims, 'tenant' | 'app' | 'issuer'>) => Promise<Issuer | null>;
}

/** Answers `/sources/<token>`. Who holds the address may send one archive, while its issuer could. */
export function createSourcesHandler(parts: SourceUploadParts): Handle {
  return async (request, url, info) => {
    info.setRoute('sources');
    if (request.method !== 'PUT') throw fail('method_not_allowed', { headers: { allow: 'PUT' } });
    const token = url.pathname.slice(sourcesPrefix.length);
    const claims = readUrlToken<SourceClaims>(parts.urlKey, token, parts.now());
    if (claims === 'expired') throw fail('url_expired');
    // Other things are signed with the same key.
    if (claims?.purpose !== 'source.put')
      throw fail('forbidden', { detail: 'This address is not one that was made here for this.' });
    return receiveSource(parts, { claims, request, info });
  };
}
