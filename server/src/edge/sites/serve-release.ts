import { sitePlatformPrefix } from '@svc/contract/static-sites.ts';
import { fail } from '../../core/problem.ts';
import type { BlobEncoding } from '../../delivery/static-sites/blobs.ts';
import type { EdgeRequest, EdgeResponse, EdgeResult } from '../../http/edge-request.ts';
import { type ByteRange, parseRange } from '../../http/headers.ts';
import { redirectTo } from '../visitors/site-responses.ts';
import { readPath, type SitePath } from './path-pattern.ts';
import {
  badPathPage,
  notAcceptedPage,
  notFoundPage,
  pageResponse,
  plainPage,
  preconditionPage,
} from './plain-page.ts';
import { encodingOrder, type FallbackKind, type FileForm, type PreparedFile } from './prepare-file.ts';
import { resolvePath, writePath } from './resolve-path.ts';
import type { ServedRelease } from './site-cache.ts';

interface BlobCache {
  peek(key: string): Uint8Array | undefined;
  read(key: string, size: number): Promise<Uint8Array>;
  bytes(): number;
}

type ReadObject = (key: string) => Promise<{ body: ReadableStream<Uint8Array> } | null>;

export const cachedBlobBytesMax = 256 * 1024;
/** Overhead of an entry, so that many tiny files cannot exceed the limit. */
const entryBytes = 512;

export function createBlobCache(options: { bytesMax: number; get: ReadObject }): BlobCache {
  const cached = new Map<string, { bytes: Uint8Array; wasUsed: boolean }>();
  const reading = new Map<string, Promise<Uint8Array>>();
  let total = 0;

  function store(key: string, bytes: Uint8Array): void {
    const cost = bytes.length + entryBytes;
    if (bytes.length > cachedBlobBytesMax || cost > options.bytesMax || cached.has(key)) return;
    while (total + cost > options.bytesMax) dropOne();
    cached.set(key, { bytes, wasUsed: false });
    total += cost;
  }

  /** CLOCK: an entry used since the last pass gets another round, so a hit only sets a flag. */
  function dropOne(): void {
    for (const [key, entry] of cached) {
      cached.delete(key);
      if (entry.wasUsed) {
        entry.wasUsed = false;
        cached.set(key, entry);
        continue;
      }
      total -= entry.bytes.length + entryBytes;
      return;
    }
  }

  async function load(key: string, size: number): Promise<Uint8Array> {
    const found = await options.get(key);
    const bytes = found && (await new Response(found.body).bytes());
    if (bytes?.length !== size) {
      throw fail('unavailable', {}, { cause: new Error(`The object store has no ${size} bytes at ${key}.`) });
    }
    store(key, bytes);
    return bytes;
  }

  return {
    peek(key) {
      const entry = cached.get(key);
      if (entry === undefined) return undefined;
      entry.wasUsed = true;
      return entry.bytes;
    },
    read(key, size) {
      const under = reading.get(key);
      if (under) return under;
      const result = load(key, size).finally(() => reading.delete(key));
      reading.set(key, result);
      return result;
    },
    bytes: () => total,
  };
}

export function serveRelease(source: FileSource, release: ServedRelease, request: EdgeRequest): EdgeResult {
  const known = release.prepared.at(request.path);
  if (known) return serveFile(source, known, request);
  const path = readPath(request.path);
  if (!path) return pageResponse(badPathPage, request.method);
  // Platform paths never belong to a release, in any spelling.
  if (`/${path.text}/`.startsWith(sitePlatformPrefix))
    return missing(source, release, request, { path, fallbackKind: 'always' });
  const accept = () => request.header('accept');
  const resolved = resolvePath(release, { path, search: request.search, accept });
  switch (resolved.kind) {
    case 'redirect':
      return redirectTo(resolved.location, resolved.status);
    case 'missing':
      return missing(source, release, request, { path, ...resolved });
    case 'fallback':
    case 'file': {
      const { config, prepared } = release;
      const fallbackKind = resolved.kind === 'fallback' ? resolved.fallbackKind : undefined;
      const rules = config.headersAt(path);
      const file = prepared.prepare(resolved.file, { rules, status: 200, fallbackKind });
      // Only the canonical spelling is cached, so that variants cannot fill the cache.
      if (resolved.kind === 'file' && writePath(path) === request.path) prepared.cacheAt(request.path, file);
      return serveFile(source, file, request);
    }
  }
}

function missing(
  source: FileSource,
  { files, config, prepared }: ServedRelease,
  request: EdgeRequest,
  { path, fallbackKind }: { path: SitePath; fallbackKind: FallbackKind },
): EdgeResult {
  const page = files.get(config.notFound);
  if (!page)
    return pageResponse(fallbackKind === 'by-accept' ? notAcceptedPage : notFoundPage, request.method);
  const file = prepared.prepare(page, { rules: config.headersAt(path), status: 404, fallbackKind });
  return serveFile(source, file, request);
}

export interface FileSource {
  blobs: BlobCache;
  get(key: string, range?: ByteRange): Promise<{ body: ReadableStream<Uint8Array> } | null>;
}

const noBytes = new Uint8Array();

function serveFile(source: FileSource, file: PreparedFile, request: EdgeRequest): EdgeResult {
  if (file.status !== 200) return fullResponse(source, formFor(file, request), request, file.status);
  const rangeHeader = request.method === 'GET' ? request.header('range') : null;
  const range = rangeHeader === null ? null : parseRange(rangeHeader, file.size);
  // Ranges refer to the uncompressed file.
  const form = range === null ? formFor(file, request) : identityOf(file);

  const ifMatch = request.header('if-match');
  if (ifMatch !== null && !listsTag(ifMatch, form.etag, 'strong'))
    return pageResponse(preconditionPage, request.method);
  const ifNoneMatch = request.header('if-none-match');
  if (ifNoneMatch !== null && listsTag(ifNoneMatch, form.etag, 'weak'))
    return { status: 304, headers: form.unchangedHeaders, body: null };

  if (range === null) return fullResponse(source, form, request, 200);
  const ifRange = request.header('if-range');
  // Another version, or a date, which is not precise enough: send the whole file.
  if (ifRange !== null && ifRange !== form.etag)
    return fullResponse(source, formFor(file, request), request, 200);
  if (range === 'unsatisfiable') return rangeErrorResponse(file.size);
  return rangeResponse(source, form, range);
}

function formFor(file: PreparedFile, request: EdgeRequest): FileForm {
  for (const encoding of encodingOrder(request.header('accept-encoding'))) {
    const form = file.form(encoding);
    if (form) return form;
  }
  return identityOf(file);
}

function identityOf(file: PreparedFile): FileForm {
  const form = file.form('identity' satisfies BlobEncoding);
  if (!form) throw new Error('The file has no identity encoding.');
  return form;
}

function fullResponse(
  source: FileSource,
  form: FileForm,
  { method }: EdgeRequest,
  status: number,
): EdgeResult {
  const { headers, key, size } = form;
  if (method === 'HEAD') return { status, headers, body: null };
  if (size === 0) return { status, headers, body: noBytes };
  if (size > cachedBlobBytesMax) return streamFromStore(source, key, { status, headers });
  const bytes = source.blobs.peek(key);
  if (bytes) return { status, headers, body: bytes };
  return source.blobs.read(key, size).then((body) => ({ status, headers, body }));
}

function rangeResponse(source: FileSource, form: FileForm, range: ByteRange): EdgeResult {
  const { key, size } = form;
  const headers = {
    ...form.headers,
    'content-length': String(range.end + 1 - range.start),
    'content-range': `bytes ${range.start}-${range.end}/${size}`,
  };
  const status = 206;
  if (size > cachedBlobBytesMax) return streamFromStore(source, key, { status, headers }, range);
  const partOf = (bytes: Uint8Array): EdgeResponse => {
    return { status, headers, body: bytes.subarray(range.start, range.end + 1) };
  };
  const bytes = source.blobs.peek(key);
  return bytes ? partOf(bytes) : source.blobs.read(key, size).then(partOf);
}

function rangeErrorResponse(size: number): EdgeResponse {
  const page = plainPage(416, 'Range not satisfiable', 'The file is shorter than the requested range.', {
    'content-range': `bytes */${size}`,
  });
  return pageResponse(page, 'GET');
}

async function streamFromStore(
  source: FileSource,
  key: string,
  head: Pick<EdgeResponse, 'status' | 'headers'>,
  range?: ByteRange,
): Promise<EdgeResponse> {
  const found = await source.get(key, range);
  if (!found) throw fail('unavailable', {}, { cause: new Error(`The store has no ${key}.`) });
  // Streamed: a buffered body would stay in memory for as long as the visitor downloads.
  return { ...head, body: found.body };
}

/** If-None-Match and If-Match (RFC 9110, 13.1). Parsing stops at the first invalid item. `weak` ignores `W/`. */
export function listsTag(header: string, tag: string, comparison: 'weak' | 'strong'): boolean {
  if (header === tag || header.trim() === '*') return true;
  const item = /[\t ,]*(W\/)?("[\x21\x23-\x7e\x80-\uffff]*")[\t ]*(?=,|$)/y;
  for (let match = item.exec(header); match; match = item.exec(header)) {
    const [, weakness, opaque] = match;
    if (opaque === tag && (comparison === 'weak' || weakness === undefined)) return true;
  }
  return false;
}
