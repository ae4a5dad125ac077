import { describe, type S3Client } from './s3-client.ts';
import { encoded, textOf } from './s3-xml.ts';
import { unavailable } from './unavailable.ts';

const mebibyte = 1024 * 1024;
/** S3 takes no smaller ones but the last, and no more than ten thousand. */
const partBytesMin = 8 * mebibyte;
const partsMax = 10_000;

interface Upload {
  key: string;
  bytesMax: number;
  signal?: AbortSignal | undefined;
}

/** A small body in one request; a larger one in parts, which S3 shows as one object when told that it is whole. */
export async function uploadBody(
  client: S3Client,
  chunks: AsyncIterable<Uint8Array>,
  { key, bytesMax, signal }: Upload,
): Promise<'at once' | 'in parts'> {
  const partBytes = Math.max(partBytesMin, Math.ceil(bytesMax / partsMax));
  let uploadId: string | undefined;
  const etags: string[] = [];
  try {
    for await (const { bytes, isLast } of partsOf(chunks, partBytes)) {
      if (isLast && uploadId === undefined) {
        // Not called off once it is sent: whether it came to be would then be unknown.
        await client.ask({ method: 'PUT', key, body: bytes }, [200]);
        return 'at once';
      }
      uploadId ??= await beginParts(client, key);
      const query = { partNumber: String(etags.length + 1), uploadId };
      const part = await client.ask({ method: 'PUT', key, query, body: bytes, signal }, [200]);
      etags.push(part.headers.get('etag') ?? '');
    }
    signal?.throwIfAborted();
    await completeParts(client, { key, uploadId: uploadId ?? '', etags });
    return 'in parts';
  } catch (error) {
    if (uploadId !== undefined) {
      await client.ask({ method: 'DELETE', key, query: { uploadId } }, [200, 204, 404]).catch(() => {});
    }
    throw error;
  }
}

async function beginParts(client: S3Client, key: string): Promise<string> {
  const { text } = await client.ask({ method: 'POST', key, query: { uploads: '' } }, [200]);
  const uploadId = textOf(text, 'UploadId');
  if (!uploadId) throw unavailable(new Error('S3 began an upload without an id'));
  return uploadId;
}

async function completeParts(
  client: S3Client,
  { key, uploadId, etags }: { key: string; uploadId: string; etags: readonly string[] },
): Promise<void> {
  const parts = etags.map(
    (etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${encoded(etag)}</ETag></Part>`,
  );
  const body = new TextEncoder().encode(
    `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`,
  );
  const { status, text } = await client.ask(
    { method: 'POST', key, query: { uploadId }, body, once: true },
    [200],
  );
  // It begins its answer before it is done, so that a failure may come as a success.
  const code = textOf(text, 'Code');
  if (code) throw unavailable(new Error(describe(status, code, textOf(text, 'Message'))));
}

/** The last one has what remains, which may be nothing. */
async function* partsOf(
  chunks: AsyncIterable<Uint8Array>,
  partBytes: number,
): AsyncGenerator<{ bytes: Uint8Array<ArrayBuffer>; isLast: boolean }> {
  let waiting: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let rest = chunk;
    while (size + rest.byteLength > partBytes) {
      const fitting = partBytes - size;
      yield { bytes: Buffer.concat([...waiting, rest.subarray(0, fitting)]), isLast: false };
      rest = rest.subarray(fitting);
      waiting = [];
      size = 0;
    }
    waiting.push(rest);
    size += rest.byteLength;
  }
  yield { bytes: Buffer.concat(waiting), isLast: true };
}
