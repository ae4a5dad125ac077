import { type ByteRange, readRange } from '../plumbing/byte-range.ts';
import type { EdgeAnswer, EdgeAnswering, EdgeRequest } from '../plumbing/edge-request.ts';
import { fail } from '../plumbing/problem.ts';
import type { BlobEncoding } from '../static-sites/blob-key.ts';
import { type BlobCache, keptBlobBytesMax } from './blob-cache.ts';
import { listsTag } from './conditions.ts';
import { encodingOrder } from './pick-encoding.ts';
import { pageAnswer, plainPage, preconditionPage } from './plain-page.ts';
import type { FileForm, PreparedFile } from './prepare-file.ts';

export interface FileSource {
  blobs: BlobCache;
  /** For what is not kept in memory. */
  get(key: string, range?: ByteRange): Promise<{ body: ReadableStream<Uint8Array> } | null>;
}

const noBytes = new Uint8Array();

/** A file to whoever may see it, by GET or HEAD. At once where its bytes are at hand. */
export function answerFile(source: FileSource, file: PreparedFile, request: EdgeRequest): EdgeAnswering {
  if (file.status !== 200) return wholeAnswer(source, formFor(file, request), request, file.status);
  const asked = request.method === 'GET' ? request.header('range') : null;
  const range = asked === null ? null : readRange(asked, file.size);
  // Parts are parts of the file as it is: a part of a compressed form is of no use without all before it.
  const form = range === null ? formFor(file, request) : identityOf(file);

  const ifMatch = request.header('if-match');
  if (ifMatch !== null && !listsTag(ifMatch, form.etag, 'strong'))
    return pageAnswer(preconditionPage, request.method);
  const ifNoneMatch = request.header('if-none-match');
  if (ifNoneMatch !== null && listsTag(ifNoneMatch, form.etag, 'weak'))
    return { status: 304, headers: form.unchangedHeaders, body: null };

  if (range === null) return wholeAnswer(source, form, request, 200);
  const ifRange = request.header('if-range');
  // Of another version, or by a date, which is not certain enough: all of it.
  if (ifRange !== null && ifRange !== form.etag)
    return wholeAnswer(source, formFor(file, request), request, 200);
  if (range === 'unsatisfiable') return outside(file.size);
  return partAnswer(source, form, range);
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
  if (!form) throw new Error('Every file is there as it is.');
  return form;
}

function wholeAnswer(
  source: FileSource,
  form: FileForm,
  { method }: EdgeRequest,
  status: number,
): EdgeAnswering {
  const { headers, key, size } = form;
  if (method === 'HEAD') return { status, headers, body: null };
  if (size === 0) return { status, headers, body: noBytes };
  if (size > keptBlobBytesMax) return fromStore(source, { form, status, headers });
  const bytes = source.blobs.peek(key);
  if (bytes) return { status, headers, body: bytes };
  return source.blobs.read(key, size).then((body) => ({ status, headers, body }));
}

function partAnswer(source: FileSource, form: FileForm, range: ByteRange): EdgeAnswering {
  const { key, size } = form;
  const headers = {
    ...form.headers,
    'content-length': String(range.end + 1 - range.start),
    'content-range': `bytes ${range.start}-${range.end}/${size}`,
  };
  if (size > keptBlobBytesMax) return fromStore(source, { form, status: 206, headers, range });
  const partOf = (bytes: Uint8Array): EdgeAnswer => ({
    status: 206,
    headers,
    body: bytes.subarray(range.start, range.end + 1),
  });
  const bytes = source.blobs.peek(key);
  return bytes ? partOf(bytes) : source.blobs.read(key, size).then(partOf);
}

function outside(size: number): EdgeAnswer {
  const page = plainPage(416, {
    title: 'Outside',
    text: 'The file ends before the part that was asked for.',
    headers: { 'content-range': `bytes */${size}` },
  });
  return pageAnswer(page, 'GET');
}

async function fromStore(
  source: FileSource,
  {
    form,
    status,
    headers,
    range,
  }: { form: FileForm; status: number; headers: Readonly<Record<string, string>>; range?: ByteRange },
): Promise<EdgeAnswer> {
  const found = await source.get(form.key, range);
  if (!found) throw fail('unavailable', {}, { cause: new Error(`The store has no ${form.key}.`) });
  // Never read whole here: it would be in memory for as long as a visitor takes to fetch it.
  return { status, headers, body: found.body };
}
