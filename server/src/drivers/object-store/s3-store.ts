import {
  checkStore,
  isKey,
  measureBody,
  type ObjectStore,
  requireKey,
  requirePrefix,
  requireRange,
  unavailableError,
} from './object-store.ts';
import {
  createS3Client,
  describeError,
  encodeXml,
  type S3Client,
  type S3Config,
  type S3Limits,
  s3Limits,
  xmlElements,
  xmlText,
} from './s3-client.ts';

const abandonedMsMin = 24 * 60 * 60 * 1000;

export function openS3Store(config: S3Config, limits: S3Limits = s3Limits): ObjectStore {
  const client = createS3Client(config, limits);
  let removedAt = 0;
  const removeAbandoned = () => {
    const now = Date.now();
    if (now - removedAt < abandonedMsMin) return;
    removedAt = now;
    abortAbandonedUploads(client, { before: new Date(now - abandonedMsMin) }).catch(() => {});
  };

  const store: Omit<ObjectStore, 'check'> = {
    async put(key, body, { bytesMax, signal }) {
      requireKey(key);
      const measured = measureBody(body, { bytesMax, signal });
      const method = await uploadBody(client, measured.chunks, { key, bytesMax, signal });
      if (method === 'multipart') removeAbandoned();
      return measured.facts();
    },

    async get(key, range) {
      requireKey(key);
      if (range) requireRange(range);
      const headers: Record<string, string> = range ? { range: `bytes=${range.start}-${range.end}` } : {};
      const answer = await client.open({ method: 'GET', key, headers }, [200, 206, 404, 416]);
      if (answer.status === 404) return null;
      const body = answer.body ?? new Blob([]).stream();
      if (answer.status !== 416) return { body, size: wholeSize(answer.headers) };
      const found = await store.stat(key);
      return found && { body, size: found.size };
    },

    async stat(key) {
      requireKey(key);
      const { status, headers } = await client.ask({ method: 'HEAD', key }, [200, 404]);
      if (status === 200) return { size: wholeSize(headers) };
      // A HEAD response has no body, which would distinguish a missing object from a missing bucket.
      const found = await store.get(key);
      await found?.body.cancel();
      return found && { size: found.size };
    },

    async delete(key) {
      requireKey(key);
      await client.ask({ method: 'DELETE', key }, [200, 204, 404]);
    },

    async *list(prefix, after = '') {
      requirePrefix(prefix);
      let from: Record<string, string> = after ? { 'start-after': after } : {};
      for (;;) {
        const query = { 'list-type': '2', prefix, ...from };
        const { text } = await client.ask({ method: 'GET', query }, [200]);
        for (const element of xmlElements(text, 'Contents')) {
          const key = xmlText(element, 'Key') ?? '';
          if (isKey(key)) yield { key, ...parseListEntry(element) };
        }
        const token = xmlText(text, 'NextContinuationToken');
        if (xmlText(text, 'IsTruncated') !== 'true' || !token) return;
        from = { 'continuation-token': token };
      }
    },
  };
  return { ...store, check: () => checkStore(store, `the bucket ${config.bucket} at ${config.endpoint}`) };
}

function parseListEntry(element: string): { size: number; modifiedAt: Date } {
  const size = Number(xmlText(element, 'Size'));
  const modifiedAt = new Date(xmlText(element, 'LastModified') ?? '');
  if (!Number.isSafeInteger(size) || Number.isNaN(modifiedAt.getTime()))
    throw unavailableError(new Error('S3 listed an object without size or time'));
  return { size, modifiedAt };
}

function wholeSize(headers: Headers): number {
  const text = /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1] ?? headers.get('content-length');
  if (text === null || !/^\d+$/.test(text)) throw unavailableError(new Error('S3 returned no size'));
  return Number(text);
}

const mebibyte = 1024 * 1024;
/** Limits of S3: a minimum size for all parts except the last, and at most 10,000 parts. */
const partBytesMin = 8 * mebibyte;
const partsMax = 10_000;

interface Upload {
  key: string;
  bytesMax: number;
  signal?: AbortSignal | undefined;
}

async function uploadBody(
  client: S3Client,
  chunks: AsyncIterable<Uint8Array>,
  { key, bytesMax, signal }: Upload,
): Promise<'single' | 'multipart'> {
  const partBytes = Math.max(partBytesMin, Math.ceil(bytesMax / partsMax));
  let uploadId: string | undefined;
  const etags: string[] = [];
  try {
    for await (const { bytes, isLast } of splitParts(chunks, partBytes)) {
      if (isLast && uploadId === undefined) {
        // Not abortable: after an abort it would be unknown whether the object exists.
        await client.ask({ method: 'PUT', key, body: bytes }, [200]);
        return 'single';
      }
      uploadId ??= await startMultipart(client, key);
      const query = { partNumber: String(etags.length + 1), uploadId };
      const part = await client.ask({ method: 'PUT', key, query, body: bytes, signal }, [200]);
      etags.push(part.headers.get('etag') ?? '');
    }
    signal?.throwIfAborted();
    await completeMultipart(client, { key, uploadId: uploadId ?? '', etags });
    return 'multipart';
  } catch (error) {
    if (uploadId !== undefined) {
      await client.ask({ method: 'DELETE', key, query: { uploadId } }, [200, 204, 404]).catch(() => {});
    }
    throw error;
  }
}

async function startMultipart(client: S3Client, key: string): Promise<string> {
  const { text } = await client.ask({ method: 'POST', key, query: { uploads: '' } }, [200]);
  const uploadId = xmlText(text, 'UploadId');
  if (!uploadId) throw unavailableError(new Error('S3 started an upload without an ID'));
  return uploadId;
}

async function completeMultipart(
  client: S3Client,
  { key, uploadId, etags }: { key: string; uploadId: string; etags: readonly string[] },
): Promise<void> {
  const parts = etags.map(
    (etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${encodeXml(etag)}</ETag></Part>`,
  );
  const body = new TextEncoder().encode(
    `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`,
  );
  const { status, text } = await client.ask(
    { method: 'POST', key, query: { uploadId }, body, noRetry: true },
    [200],
  );
  // S3 sends the status before it is done, so a failure can have status 200.
  const code = xmlText(text, 'Code');
  if (code) throw unavailableError(new Error(describeError(status, code, xmlText(text, 'Message'))));
}

async function* splitParts(
  chunks: AsyncIterable<Uint8Array>,
  partBytes: number,
): AsyncGenerator<{ bytes: Uint8Array<ArrayBuffer>; isLast: boolean }> {
  let waiting: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let rest = chunk;
    while (size + rest.byteLength > partBytes) {
      const room = partBytes - size;
      yield { bytes: Buffer.concat([...waiting, rest.subarray(0, room)]), isLast: false };
      rest = rest.subarray(room);
      waiting = [];
      size = 0;
    }
    waiting.push(rest);
    size += rest.byteLength;
  }
  yield { bytes: Buffer.concat(waiting), isLast: true };
}

/** The parts of an upload whose process was killed are invisible, but S3 stores and bills them until they are aborted. */
export async function abortAbandonedUploads(client: S3Client, { before }: { before: Date }): Promise<void> {
  let from: Record<string, string> = {};
  for (;;) {
    const { text } = await client.ask({ method: 'GET', query: { uploads: '', ...from } }, [200]);
    for (const upload of xmlElements(text, 'Upload')) {
      const key = xmlText(upload, 'Key') ?? '';
      const uploadId = xmlText(upload, 'UploadId') ?? '';
      if (!isKey(key) || !(new Date(xmlText(upload, 'Initiated') ?? '') < before)) continue;
      await client.ask({ method: 'DELETE', key, query: { uploadId } }, [200, 204, 404]);
    }
    const keyMarker = xmlText(text, 'NextKeyMarker');
    if (xmlText(text, 'IsTruncated') !== 'true' || !keyMarker) return;
    from = { 'key-marker': keyMarker, 'upload-id-marker': xmlText(text, 'NextUploadIdMarker') ?? '' };
  }
}
