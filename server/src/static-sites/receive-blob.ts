import { uploadGrantSeconds } from '@svc/contract/static-sites.ts';
import type { RequestInfo } from '../plumbing/api.ts';
import { fail } from '../plumbing/problem.ts';
import { bodyPieces } from '../storage/body-pieces.ts';
import { findExpected } from './blob-store.ts';
import { keepBlob } from './keep-blob.ts';
import { leastRate } from './least-rate.ts';
import { refuseArchived, stateText } from './rules.ts';
import { mismatch } from './store-blob.ts';
import type { UploadClaims } from './upload-grant.ts';
import type { UploadParts } from './uploads-handler.ts';

export interface Sent {
  claims: UploadClaims;
  /** What the address says the bytes are. */
  sha256: string;
  request: Request;
  info: RequestInfo;
}

/** How often the connection is told to stay while what has arrived is stored. */
const stayMs = 10_000;

/** One file of a draft: stored as it comes, and kept only if it is what the list says. */
export async function receiveBlob(parts: UploadParts, sent: Sent): Promise<Response> {
  const { claims, sha256, request, info } = sent;
  await confirmIssuer(parts, claims);
  const place = { tenantId: claims.tenant, appId: claims.app };
  const expected = await findExpected(parts.db, place, { releaseId: claims.release, sha256 });
  // The release was there when the address was made.
  if (!expected) throw fail('release_not_draft', { detail: 'The release is no more.' });
  if (expected.state !== 'draft')
    throw fail('release_not_draft', { detail: `The release is ${stateText(expected.state)}.` });
  const { size, stored } = expected;
  if (size === null) throw fail('not_in_manifest');
  if (stored !== null) {
    if (stored !== size) throw mismatch(`are ${stored} and not ${size} bytes`);
    return answer({ sha256, size }, 200);
  }
  refuseByHeaders(request, size);
  const patient = () => info.patient?.();
  const body = bodyPieces(request, { patient, msMax: uploadGrantSeconds * 1000 });
  const staying = setInterval(patient, stayMs);
  try {
    const isNew = await keepBlob(parts, {
      ...{ place, releaseId: claims.release, sha256, size, log: info.log },
      pieces: leastRate(body, parts.now),
      confirm: () => confirmIssuer(parts, claims),
    });
    return answer({ sha256, size }, isNew ? 201 : 200);
  } finally {
    clearInterval(staying);
  }
}

/** Asked before the body and behind it: it may take minutes, and what ended meanwhile has ended. */
async function confirmIssuer(parts: UploadParts, claims: UploadClaims): Promise<void> {
  const issuer = await parts.issuerAccess(claims);
  if (!issuer) throw fail('forbidden', { detail: 'Whoever made this address may no longer do this.' });
  refuseArchived(issuer.app);
}

function answer(body: { sha256: string; size: number }, status: 200 | 201): Response {
  return Response.json(body, { status, headers: { 'cache-control': 'no-store' } });
}

function refuseByHeaders({ headers }: Request, size: number): void {
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw fail('unsupported_media_type', { detail: 'Send the body without a Content-Encoding.' });
  const length = headers.get('content-length');
  if (length !== null && Number(length) !== size) throw mismatch(`are ${length} and not ${size} bytes`);
}
