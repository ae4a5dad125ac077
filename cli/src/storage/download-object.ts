import { answerError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { getObjectUrl } from '@svc/contract/storage.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import { openRequest } from '../io.ts';
import type { ByteProgress } from './byte-progress.ts';
import type { StoragePlace } from './storage-place.ts';

/** A server that sends nothing for so long has gone. */
const silentMsMax = 60_000;

/** The bytes of an object; ends only when they are all there, and are what they were. */
export async function* downloadObject(
  ctx: Ctx,
  { client, params }: StoragePlace,
  { key, progress }: { key: string; progress: ByteProgress },
): AsyncGenerator<Uint8Array> {
  const { url } = await client.call(getObjectUrl, { params, query: { key } }, { signal: ctx.signal });
  const response = await openRequest(ctx, url, { headers: { accept: '*/*' } });
  if (!response.ok) throw await refusal(response, url);
  const sum = new Bun.CryptoHasher('sha256');
  const reader = (response.body ?? new Blob([]).stream()).getReader();
  try {
    for (;;) {
      const { done, value } = await withinTime(reader.read()).catch((cause) => {
        throw ctx.signal.aborted ? ctx.signal.reason : brokenOff(key, cause);
      });
      if (done) break;
      sum.update(value);
      progress.add(value.byteLength);
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
  if (response.headers.get('etag') !== `"${sum.digest('hex')}"`) throw brokenOff(key);
}

async function refusal(response: Response, url: string): Promise<Error> {
  const shown = `${new URL(url).origin}/objects/…`;
  const body: unknown = await response.json().catch(() => undefined);
  return body === undefined
    ? new UnexpectedAnswerError(response.status, shown, response.headers.get('x-request-id'))
    : answerError(response, shown, body);
}

function brokenOff(key: string, cause?: unknown): CliError {
  return new CliError('no_connection', `${key} broke off before its end.`, { next: 'Try again.', cause });
}

async function withinTime<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('Nothing came any more.')), silentMsMax);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
