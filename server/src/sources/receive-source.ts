import { sourceBytesMax, sourceUploadSeconds } from '@svc/contract/deployments.ts';
import { objectSumHeader } from '@svc/contract/storage.ts';
import type { RequestInfo } from '../plumbing/api.ts';
import { fail } from '../plumbing/problem.ts';
import { bodyPieces } from '../storage/body-pieces.ts';
import type { SourceClaims } from './grant-source-upload.ts';
import { requireArchive } from './require-archive.ts';
import { requireSum } from './require-sum.ts';
import { sourceKey } from './source-key.ts';
import type { SourceUploadParts } from './sources-handler.ts';
import { findUploadRow, markArrived, type UploadRow } from './store.ts';

interface Sent {
  claims: SourceClaims;
  request: Request;
  info: RequestInfo;
}

/** How often the connection is told to stay while what has arrived is stored. */
const stayMs = 10_000;

/**
 * One archive, stored as it comes. The same bytes sent again, by somebody whose answer was lost, are the same; others are
 * refused once something has arrived. Whoever takes it compares its sum, so two that raced can not be taken for each other.
 */
export async function receiveSource(
  parts: SourceUploadParts,
  { claims, request, info }: Sent,
): Promise<Response> {
  await confirmIssuer(parts, claims);
  const place = { tenantId: claims.tenant, appId: claims.app };
  const row = await findUploadRow(parts.db, place, claims.upload);
  if (!row) throw fail('url_expired');
  const announced = request.headers.get(objectSumHeader);
  if (row.arrived_at !== null) return repeated(row, announced);
  refuseByHeaders(request);
  const patient = () => info.patient?.();
  const body = bodyPieces(request, { patient, msMax: sourceUploadSeconds * 1_000 });
  const staying = setInterval(patient, stayMs);
  const key = sourceKey(place, claims.upload);
  try {
    const pieces = requireSum(requireArchive(body), announced, () =>
      fail('digest_mismatch', { detail: 'The bytes have another sum; nothing of them is kept.' }),
    );
    const { size, sha256 } = await parts.objects.put(key, pieces, { bytesMax: sourceBytesMax });
    await confirmIssuer(parts, claims);
    const arrived = { id: row.id, bytes: size, sha256, arrived_at: parts.now() };
    if (await markArrived(parts.db, place, arrived)) return answer(arrived, 201);
    const now = await findUploadRow(parts.db, place, claims.upload);
    if (!now) throw fail('url_expired');
    return repeated(now, sha256);
  } finally {
    clearInterval(staying);
  }
}

/** Asked before the body and behind it: it may take minutes, and what ended meanwhile has ended. */
async function confirmIssuer(parts: SourceUploadParts, claims: SourceClaims): Promise<void> {
  const issuer = await parts.issuerAccess(claims);
  if (!issuer) throw fail('forbidden', { detail: 'Whoever made this address may no longer do this.' });
  if (issuer.app.record !== 'active') throw fail('app_not_active', { detail: 'The app is archived.' });
}

function refuseByHeaders({ headers }: Request): void {
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw fail('unsupported_media_type', { detail: 'Send the archive without a Content-Encoding.' });
  if (Number(headers.get('content-length') ?? 0) > sourceBytesMax)
    throw fail('payload_too_large', { detail: `The archive may have at most ${sourceBytesMax} bytes.` });
}

function repeated(row: Pick<UploadRow, 'id' | 'bytes' | 'sha256'>, sum: string | null): Response {
  if (sum === null || sum !== row.sha256)
    throw fail('url_expired', { detail: 'Source was sent to this address already; ask for a new one.' });
  return answer(row, 200);
}

function answer(
  { id, bytes, sha256 }: Pick<UploadRow, 'id' | 'bytes' | 'sha256'>,
  status: 200 | 201,
): Response {
  return Response.json(
    { upload_id: id, bytes, sha256 },
    { status, headers: { 'cache-control': 'no-store' } },
  );
}
