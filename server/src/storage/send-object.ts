import type { RequestInfo } from '../plumbing/api.ts';
import type { AppPlace } from '../plumbing/app-place.ts';
import { knowsEtag } from '../plumbing/etag.ts';
import { fail } from '../plumbing/problem.ts';
import { rangeOf } from './byte-range.ts';
import type { DownloadClaims } from './object-url.ts';
import type { ObjectParts } from './objects-handler.ts';
import { blobKey, fileNameOf } from './rules.ts';
import { findObjectRow, type ObjectRow } from './store.ts';

/** Up to here it is sent in one go, with its length; the runtime knows none of a stream. */
const wholeBytesMax = 1024 * 1024;

interface Download {
  claims: DownloadClaims;
  request: Request;
  info: RequestInfo;
}

export async function sendObject(parts: ObjectParts, download: Download): Promise<Response> {
  const { claims, request } = download;
  const place = { tenantId: claims.tenant, appId: claims.app };
  for (let attempt = 1; ; attempt++) {
    const row = await findObjectRow(parts.db, place, claims.key);
    if (!row) throw fail('not_found');
    const headers = headersOf(row);
    if (knowsEtag(request.headers.get('if-none-match'), headers.etag))
      return new Response(null, { status: 304, headers });
    const answer = await bytesOf(parts, download, { place, row, headers });
    if (answer) return answer;
    // Another upload took its place after the row was read; twice in a row it is something else.
    if (attempt > 1) {
      throw fail('unavailable', {}, { cause: new Error(`The store has no ${blobKey(place, row.blob_id)}.`) });
    }
  }
}

async function bytesOf(
  { objects }: ObjectParts,
  { request, info }: Download,
  { place, row, headers }: { place: AppPlace; row: ObjectRow; headers: ReturnType<typeof headersOf> },
): Promise<Response | null> {
  const range = rangeOf(request.headers, { size: row.size, etag: headers.etag });
  if (range === 'unsatisfiable') {
    throw fail('range_not_satisfiable', { headers: { 'content-range': `bytes */${row.size}` } });
  }
  const length = range ? range.end + 1 - range.start : row.size;
  const status = range ? 206 : 200;
  const all = {
    ...headers,
    'content-length': String(length),
    ...(range && { 'content-range': `bytes ${range.start}-${range.end}/${row.size}` }),
  };
  if (request.method === 'HEAD' || length === 0) return new Response(null, { status, headers: all });
  const found = await objects.get(blobKey(place, row.blob_id), range ?? undefined);
  if (!found) return null;
  if (length > wholeBytesMax) return new Response(kept(found.body, info), { status, headers: all });
  return new Response(await new Response(found.body).bytes(), { status, headers: all });
}

function headersOf(row: ObjectRow) {
  // In the RFC's own words, for every name there is: nothing of it can end the header or the field.
  const name = encodeURIComponent(fileNameOf(row.key)).replace(
    /['()*]/g,
    (it) => `%${it.charCodeAt(0).toString(16)}`,
  );
  return {
    'content-type': row.content_type,
    'content-disposition': `attachment; filename*=UTF-8''${name}`,
    // It is of anybody, and is served from our own address: it must not run there.
    'content-security-policy': "default-src 'none'; sandbox",
    'cache-control': 'private, no-cache',
    'accept-ranges': 'bytes',
    'last-modified': row.updated_at.toUTCString(),
    etag: `"${row.sha256}"`,
  };
}

/** The connection lives for as long as the client takes what it is sent. */
function kept(body: ReadableStream<Uint8Array>, info: RequestInfo): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        info.patient?.();
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
