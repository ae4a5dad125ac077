import { answerError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { signUpload } from '@svc/contract/storage.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import { request } from '../io.ts';
import type { ByteProgress } from './byte-progress.ts';
import type { LocalSource } from './local-source.ts';
import type { StoragePlace } from './storage-place.ts';

export interface UploadJob {
  key: string;
  contentType: string;
  source: LocalSource;
}

export interface StoredObject {
  key: string;
  size: number;
  content_type: string;
  sha256: string;
}

/** What the server is asked before a byte is sent; a preview asks the same. */
export function uploadInput({ params }: StoragePlace, { key, contentType, source }: UploadJob) {
  return {
    params,
    body: { key, content_type: contentType, ...(source.bytes === null ? {} : { size: source.bytes }) },
  };
}

/** Streams the source to an address that was signed for it; it is there whole, or not at all. */
export async function uploadObject(
  ctx: Ctx,
  place: StoragePlace,
  job: UploadJob,
  { progress, plan }: { progress: ByteProgress; plan?: string | undefined },
): Promise<StoredObject> {
  const { put_url, headers } = await place.client.call(signUpload, uploadInput(place, job), {
    signal: ctx.signal,
    ...(plan !== undefined && { ifPlan: plan }),
  });
  const sum = new Bun.CryptoHasher('sha256');
  const chunks = job.source.chunks()[Symbol.asyncIterator]();
  let failed: unknown;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next();
          if (done) return controller.close();
          sum.update(value);
          progress.add(value.byteLength);
          controller.enqueue(value);
        } catch (cause) {
          failed = cause;
          controller.error(cause);
        }
      },
    },
    { highWaterMark: 0 },
  );
  const init = { method: 'PUT', headers, body, duplex: 'half' } as RequestInit;
  const response = await request(ctx, put_url, init).catch((cause) => {
    // What can not be read here is no fault of the connection.
    throw failed ?? cause;
  });
  const shown = `${new URL(put_url).origin}/objects/…`;
  const answer: unknown = await response.json().catch(() => {
    throw new UnexpectedAnswerError(response.status, shown, response.headers.get('x-request-id'));
  });
  if (!response.ok) throw answerError(response, shown, answer);
  const stored = answer as StoredObject;
  if (stored.sha256 === sum.digest('hex')) return stored;
  throw new CliError('not_this_service', `What was stored under ${job.key} is not what was sent.`, {
    next: 'Upload it again.',
  });
}
