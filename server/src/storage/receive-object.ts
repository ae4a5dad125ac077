import { objectSumHeader, storageObjectBytesMax } from '@svc/contract/storage.ts';
import type { RequestInfo } from '../plumbing/api.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { bodyPieces } from './body-pieces.ts';
import { discardUpload } from './discard-upload.ts';
import { finishUpload } from './finish-upload.ts';
import type { Issuer } from './issuer-access.ts';
import type { UploadClaims } from './object-url.ts';
import type { ObjectParts } from './objects-handler.ts';
import { blobKey, bytesLeft, fullFailure, notEnabled, refuseArchived, refuseTooMuch } from './rules.ts';
import { findObjectRow, findStorageRow, insertUploadRow } from './store.ts';

export interface Upload {
  claims: UploadClaims;
  issuer: Issuer;
  request: Request;
  info: RequestInfo;
}

/** Well below the age at which the sweep takes an upload for dead. */
const uploadMsMax = 12 * 3_600_000;

/**
 * Bytes go to a place of their own, and become the object in one step once all are there. What ends on the way leaves a
 * row by which the sweep finds the rest.
 */
export async function receiveObject(parts: ObjectParts, upload: Upload): Promise<Response> {
  const { claims, issuer, request, info } = upload;
  const place = { tenantId: claims.tenant, appId: claims.app };
  const { bytesMax, announced, sum } = await admit(parts, upload);
  const blobId = Bun.randomUUIDv7();
  await insertUploadRow(parts.db, {
    blob_id: blobId,
    app_id: place.appId,
    tenant_id: place.tenantId,
    started_at: parts.now(),
  });
  try {
    const pieces = bodyPieces(request, { patient: () => info.patient?.(), msMax: uploadMsMax });
    const stored = await parts.objects.put(blobKey(place, blobId), pieces, { bytesMax });
    if (announced !== null && stored.size !== announced)
      throw invalid('body', `is ${stored.size} bytes and not ${announced}`, 'size_mismatch');
    if (sum !== null && stored.sha256 !== sum)
      throw invalid(objectSumHeader, 'is not the sum of what arrived', 'sum_mismatch');
    const { row, isNew } = await finishUpload(parts, { claims, issuer, info, blobId, stored });
    const { key, size, sha256 } = row;
    return Response.json(
      { key, size, sha256, content_type: row.content_type },
      { status: isNew ? 201 : 200, headers: { etag: `"${sha256}"`, 'cache-control': 'no-store' } },
    );
  } catch (error) {
    await discardUpload(parts, place, blobId).catch((cause: unknown) =>
      info.log.warn({ err: cause }, 'an upload is left for the sweep'),
    );
    throw isTooLarge(error) && bytesMax < storageObjectBytesMax && claims.size === undefined
      ? fullFailure()
      : error;
  }
}

/** What can be refused before a byte is read. */
async function admit(parts: ObjectParts, { claims, issuer, request }: Upload) {
  refuseArchived(issuer.app);
  const { headers } = request;
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw fail('unsupported_media_type', { detail: 'Send the body without a Content-Encoding.' });
  if (headers.get('content-type') !== claims.content_type)
    throw fail('unsupported_media_type', {
      detail: `The address is for Content-Type: ${claims.content_type}.`,
    });
  if (headers.has('content-range')) throw invalid('content-range', 'is not taken: send the whole object');
  const place = { tenantId: claims.tenant, appId: claims.app };
  const storage = await findStorageRow(parts.db, place);
  if (!storage) throw notEnabled();
  const left = bytesLeft(storage, await findObjectRow(parts.db, place, claims.key));
  const length = headers.get('content-length');
  const sent = length === null ? null : Number(length);
  if (sent !== null && claims.size !== undefined && sent !== claims.size)
    throw invalid(
      'content-length',
      `is not the ${claims.size} bytes that the address is for`,
      'size_mismatch',
    );
  const announced = claims.size ?? sent;
  if ((announced ?? 0) > storageObjectBytesMax)
    throw fail('payload_too_large', { detail: `An object may be at most ${storageObjectBytesMax} bytes.` });
  refuseTooMuch(announced ?? 0, left);
  const sum = headers.get(objectSumHeader)?.toLowerCase() ?? null;
  if (sum !== null && !/^[0-9a-f]{64}$/.test(sum)) throw invalid(objectSumHeader, 'is 64 hexadecimal digits');
  return { bytesMax: announced ?? Math.min(storageObjectBytesMax, left), announced, sum };
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'payload_too_large';
}
