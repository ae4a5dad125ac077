import { constants, gunzipSync } from 'node:zlib';
import { sourceBytesMax, sourcesPrefix, sourceUploadSeconds } from '@svc/contract/deployments.ts';
import { objectSumHeader } from '@svc/contract/storage.ts';
import type { Db } from '../../core/db.ts';
import type { LiveKey } from '../../core/keys.ts';
import { fail } from '../../core/problem.ts';
import type { Issuer, IssuerClaims } from '../../data/storage/signed-urls.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { RequestHandler, RequestInfo } from '../../http/handlers.ts';
import { bodyChunks } from '../../http/read-body.ts';
import { verifyUrlToken } from '../../http/signed-url.ts';
import { findUploadRow, markArrived, type SourceClaims, sourceKey, type UploadRow } from './sources.ts';

interface UploadRequest {
  claims: SourceClaims;
  request: Request;
  info: RequestInfo;
}

/** Keeps the connection open while the store finishes. */
const keepAliveMs = 10_000;

/** Concurrent uploads to one URL may overwrite each other: `unpackUpload` compares the stored hash. */
async function receiveSource(deps: UploadDeps, { claims, request, info }: UploadRequest) {
  await confirmIssuer(deps, claims);
  const appRef = { tenantId: claims.tenant, appId: claims.app };
  const row = await findUploadRow(deps.db, appRef, claims.upload);
  if (!row) throw fail('url_expired');
  const announced = request.headers.get(objectSumHeader);
  if (row.arrived_at !== null) return repeatedUpload(row, announced);
  checkHeaders(request);
  const keepAlive = () => info.extendTimeout?.();
  const body = bodyChunks(request, { extendTimeout: keepAlive, msMax: sourceUploadSeconds * 1_000 });
  const timer = setInterval(keepAlive, keepAliveMs);
  const key = sourceKey(appRef, claims.upload);
  try {
    const pieces = requireHash(requireArchive(body), announced, () =>
      fail('digest_mismatch', {
        detail: 'The bytes do not match the announced SHA-256; nothing was stored.',
      }),
    );
    const { size, sha256 } = await deps.objects.put(key, pieces, { bytesMax: sourceBytesMax });
    await confirmIssuer(deps, claims);
    const arrived = { id: row.id, bytes: size, sha256, arrived_at: deps.now() };
    if (await markArrived(deps.db, appRef, arrived)) return uploadResponse(arrived, 201);
    const now = await findUploadRow(deps.db, appRef, claims.upload);
    if (!now) throw fail('url_expired');
    return repeatedUpload(now, sha256);
  } finally {
    clearInterval(timer);
  }
}

/** Checked before and after the upload, which may take minutes. */
async function confirmIssuer(deps: UploadDeps, claims: SourceClaims): Promise<void> {
  const issuer = await deps.issuerAccess(claims);
  if (!issuer)
    throw fail('forbidden', { detail: 'The person who created this URL no longer has the permission.' });
  if (issuer.app.record !== 'active') throw fail('app_not_active', { detail: 'The app is archived.' });
}

function checkHeaders({ headers }: Request): void {
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw fail('unsupported_media_type', { detail: 'Send the archive without a Content-Encoding.' });
  if (Number(headers.get('content-length') ?? 0) > sourceBytesMax)
    throw fail('payload_too_large', { detail: `The archive may have at most ${sourceBytesMax} bytes.` });
}

function repeatedUpload(row: Pick<UploadRow, 'id' | 'bytes' | 'sha256'>, hash: string | null): Response {
  if (hash === null || hash !== row.sha256)
    throw fail('url_expired', { detail: 'Other source was already sent to this URL; request a new one.' });
  return uploadResponse(row, 200);
}

function uploadResponse(
  { id, bytes, sha256 }: Pick<UploadRow, 'id' | 'bytes' | 'sha256'>,
  status: 200 | 201,
): Response {
  return Response.json(
    { upload_id: id, bytes, sha256 },
    { status, headers: { 'cache-control': 'no-store' } },
  );
}

export interface UploadDeps {
  db: Db;
  objects: ObjectStore;
  urlKey: LiveKey<string>;
  now: () => Date;
  issuerAccess: (claims: IssuerClaims) => Promise<Issuer | null>;
}

/** Handles `/sources/<token>`: the URL itself is the permission to send one archive, while its issuer has it. */
export function createSourcesHandler(deps: UploadDeps): RequestHandler {
  return async (request, url, info) => {
    info.setRoute('sources');
    if (request.method !== 'PUT') throw fail('method_not_allowed', { headers: { allow: 'PUT' } });
    const token = url.pathname.slice(sourcesPrefix.length);
    const claims = verifyUrlToken<SourceClaims>(deps.urlKey, token, deps.now());
    if (claims === 'expired') throw fail('url_expired');
    // Other URLs are signed with the same key.
    if (claims?.purpose !== 'source.put')
      throw fail('forbidden', { detail: 'This URL is not valid for a source upload.' });
    return receiveSource(deps, { claims, request, info });
  };
}

/** Enough to detect the format; inflates to a few MiB at most. */
const headBytes = 4 * 1024;
const magicAt = 257;

async function* requireArchive(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | null = new Uint8Array(0);
  for await (const piece of pieces) {
    if (head === null) {
      yield piece;
      continue;
    }
    head = Buffer.concat([head, piece]);
    if (head.byteLength < headBytes) continue;
    requireTarGz(head);
    yield head;
    head = null;
  }
  if (head === null) return;
  requireTarGz(head);
  yield head;
}

function requireTarGz(head: Uint8Array): void {
  if (!isTarGz(head))
    throw fail('unsupported_media_type', { detail: 'Send a tar archive that is compressed with gzip.' });
}

function isTarGz(head: Uint8Array): boolean {
  if (head[0] !== 0x1f || head[1] !== 0x8b) return false;
  try {
    const begin = gunzipSync(head.subarray(0, headBytes), { finishFlush: constants.Z_SYNC_FLUSH });
    return begin.toString('latin1', magicAt, magicAt + 5) === 'ustar';
  } catch {
    return false;
  }
}

/** Throws before the stream ends, so that a wrong hash never looks complete. */
export async function* requireHash(
  pieces: AsyncIterable<Uint8Array>,
  expected: string | null,
  failure: () => Error,
): AsyncGenerator<Uint8Array> {
  const hash = new Bun.CryptoHasher('sha256');
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
  if (expected !== null && expected !== hash.digest('hex')) throw failure();
}
