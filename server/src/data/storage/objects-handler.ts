import { objectsPrefix, rowFilesPrefix } from '@svc/contract/storage.ts';
import type { AppRef } from '../../core/context.ts';
import { type Failure, fail, orNotFound } from '../../core/problem.ts';
import type { FastPathRequest, RequestHandler, RequestInfo } from '../../http/handlers.ts';
import { type ByteRange, matchesIfNoneMatch, parseRange } from '../../http/headers.ts';
import { extendOnRead } from '../../http/read-body.ts';
import { verifyUrlToken } from '../../http/signed-url.ts';
import type { DownloadClaims, ObjectClaims, ObjectsDeps } from './signed-urls.ts';
import { blobKey, fileName } from './storage.ts';
import { findObjectRow, type ObjectRow } from './store.ts';
import { receiveObject } from './uploads.ts';

export function createObjectsHandler(deps: ObjectsDeps): RequestHandler {
  return async (request, url, info) => {
    info.setRoute('objects');
    const { method } = request;
    if (method !== 'GET' && method !== 'HEAD' && method !== 'PUT')
      throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD, PUT' } });
    const claims = parseUrlClaims(deps, url.pathname);
    // Tokens of other purposes are signed with the same key.
    if ((claims.purpose === 'object.get') === (method === 'PUT')) throw invalidUrlError();
    if (claims.purpose !== 'file.put' && claims.key.startsWith(rowFilesPrefix)) throw invalidUrlError();
    const issuer = await deps.issuerAccess(claims);
    if (!issuer) throw fail('forbidden', { detail: 'The user who created this URL no longer has access.' });
    return claims.purpose === 'object.get'
      ? sendObject(deps, { claims, request, info })
      : receiveObject(deps, { claims, issuer, request, info });
  };
}

function parseUrlClaims({ urlKey, now }: ObjectsDeps, path: string): ObjectClaims {
  const [token = '', , ...more] = path.slice(objectsPrefix.length).split('/');
  const claims = more.length > 0 ? null : verifyUrlToken<ObjectClaims>(urlKey, token, now());
  if (claims === 'expired') throw fail('url_expired');
  if (!claims) throw invalidUrlError();
  return claims;
}

function invalidUrlError(): Failure {
  return fail('forbidden', { detail: 'This URL is not valid for this request.' });
}

/** Smaller objects are sent as one buffer, so that the response has a Content-Length; a stream has none. */
const bufferedBytesMax = 1024 * 1024;

interface Download {
  claims: Pick<DownloadClaims, 'tenant' | 'app' | 'key'>;
  request: Pick<FastPathRequest, 'method' | 'headers'>;
  info: Pick<RequestInfo, 'extendTimeout'>;
  name?: string;
}

export async function sendObject(deps: Pick<ObjectsDeps, 'db' | 'objects'>, download: Download) {
  const { claims, request } = download;
  const app = { tenantId: claims.tenant, appId: claims.app };
  for (let attempt = 1; ; attempt++) {
    const row = orNotFound(await findObjectRow(deps.db, app, claims.key));
    const headers = objectHeaders(row, download.name);
    if (matchesIfNoneMatch(request.headers.get('if-none-match'), headers.etag))
      return new Response(null, { status: 304, headers });
    const answer = await objectResponse(deps, download, { app, row, headers });
    if (answer) return answer;
    // The blob is missing: another upload replaced the object after its row was read. Twice in a row is an error.
    if (attempt > 1) {
      throw fail('unavailable', {}, { cause: new Error(`Missing blob ${blobKey(app, row.blob_id)}.`) });
    }
  }
}

async function objectResponse(
  { objects }: Pick<ObjectsDeps, 'objects'>,
  { request, info }: Download,
  { app, row, headers }: { app: AppRef; row: ObjectRow; headers: ReturnType<typeof objectHeaders> },
): Promise<Response | null> {
  const range = requestedRange(request.headers, { size: row.size, etag: headers.etag });
  if (range === 'unsatisfiable') {
    throw fail('range_not_satisfiable', { headers: { 'content-range': `bytes */${row.size}` } });
  }
  const length = range ? range.end + 1 - range.start : row.size;
  const status = range ? 206 : 200;
  const all: Record<string, string> = { ...headers, 'content-length': String(length) };
  if (range) all['content-range'] = `bytes ${range.start}-${range.end}/${row.size}`;
  if (request.method === 'HEAD' || length === 0) return new Response(null, { status, headers: all });
  const found = await objects.get(blobKey(app, row.blob_id), range ?? undefined);
  if (!found) return null;
  if (length > bufferedBytesMax)
    return new Response(
      extendOnRead(found.body, () => info.extendTimeout?.()),
      { status, headers: all },
    );
  return new Response(await new Response(found.body).bytes(), { status, headers: all });
}

function objectHeaders(row: ObjectRow, given = fileName(row.key)) {
  // Percent-encoded as RFC 8187 requires, so that no file name can end the field or the header.
  const name = encodeURIComponent(given).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
  return {
    'content-type': row.content_type,
    'content-disposition': `attachment; filename*=UTF-8''${name}`,
    // Untrusted content on our own origin: it must not run scripts.
    'content-security-policy': "default-src 'none'; sandbox",
    'cache-control': 'private, no-cache',
    'accept-ranges': 'bytes',
    'last-modified': row.updated_at.toUTCString(),
    etag: `"${row.sha256}"`,
  };
}

function requestedRange(
  headers: Pick<Headers, 'get'>,
  { size, etag }: { size: number; etag: string },
): ByteRange | 'unsatisfiable' | null {
  const ifRange = headers.get('if-range');
  if (ifRange !== null && ifRange !== etag) return null;
  return parseRange(headers.get('range') ?? '', size);
}
