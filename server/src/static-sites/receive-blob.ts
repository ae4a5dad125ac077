import { uploadGrantSeconds } from '@svc/contract/static-sites.ts';
import type { RequestInfo } from '../plumbing/api.ts';
import { type Account, createByteBudget } from '../plumbing/byte-budget.ts';
import { sha256 as sha256Of } from '../plumbing/canonical.ts';
import { type Failure, fail } from '../plumbing/problem.ts';
import { bodyPieces } from '../storage/body-pieces.ts';
import type { Issuer } from '../storage/issuer-access.ts';
import { findExpected } from './blob-store.ts';
import { keepBlob } from './keep-blob.ts';
import { refuseArchived, stateText } from './rules.ts';
import type { UploadClaims } from './upload-grant.ts';
import type { UploadParts } from './uploads-handler.ts';

export interface Sent {
  claims: UploadClaims;
  /** What the address says the bytes are. */
  sha256: string;
  request: Request;
  info: RequestInfo;
}

/** Of all files that are being received together. */
const receivingBytesMax = 128 * 1024 * 1024;
const budget = createByteBudget({ bytesMax: receivingBytesMax, waitMsMax: 20_000 });

/** One file of a draft: judged whole before a byte of it is stored. */
export async function receiveBlob(parts: UploadParts, sent: Sent): Promise<Response> {
  const { claims, sha256, request } = sent;
  const issuer = await confirmIssuer(parts, claims);
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
  const account = budget.open(issuer.caller.userId);
  try {
    const bytes = await read(sent, size, account);
    if (bytes.byteLength !== size) throw mismatch(`are ${bytes.byteLength} and not ${size} bytes`);
    if (sha256Of(bytes) !== sha256) throw mismatch('have another sum');
    await confirmIssuer(parts, claims);
    const isNew = await keepBlob(parts, { place, claims, sha256, bytes, info: sent.info });
    return answer({ sha256, size }, isNew ? 201 : 200);
  } finally {
    account.close();
  }
}

/** Asked before the body and behind it: it may take minutes, and what ended meanwhile has ended. */
async function confirmIssuer(parts: UploadParts, claims: UploadClaims): Promise<Issuer> {
  const issuer = await parts.issuerAccess(claims);
  if (!issuer) throw fail('forbidden', { detail: 'Whoever made this address may no longer do this.' });
  refuseArchived(issuer.app);
  return issuer;
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

async function read({ request, info }: Sent, size: number, account: Account): Promise<Uint8Array> {
  // All of it at once, before any of it comes: whoever waits holds nothing that others wait for.
  await account.take(size);
  const whole = new Uint8Array(size);
  let length = 0;
  const pieces = bodyPieces(request, {
    patient: () => info.patient?.(),
    msMax: uploadGrantSeconds * 1000,
  });
  for await (const piece of pieces) {
    if (length + piece.byteLength > size) throw mismatch(`are more than ${size} bytes`);
    whole.set(piece, length);
    length += piece.byteLength;
  }
  return whole.subarray(0, length);
}

function mismatch(what: string): Failure {
  return fail('digest_mismatch', { detail: `The bytes ${what}; nothing of them is kept.` });
}
