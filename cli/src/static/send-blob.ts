import { answerError, ProblemError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import { request } from '../io.ts';
import { pause, within } from '../waiting.ts';
import type { HashedFile } from './hash-site.ts';
import { changed, readSiteFile } from './read-site-file.ts';

const requestMsMax = 10 * 60_000;
const retriesMax = 6;
/** How long a server that is busy is waited for. */
const busyMsMax = 15 * 60_000;
const backoffMsMax = 8_000;
const retryAfterSecondsMax = 60;

/** Sends the bytes of a file to the address made for them, again when the line breaks; they are stored once. */
export async function sendBlob(ctx: Ctx, file: HashedFile, url: string): Promise<void> {
  const body = await bytesOf(file);
  const busyUntil = performance.now() + busyMsMax;
  let [tries, spent] = [0, 0];
  for (;;) {
    try {
      return await put(within(ctx, requestMsMax), url, body);
    } catch (cause) {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      // Others come first, which says nothing about this file: it waits for its turn.
      if (!isBusy(cause) || performance.now() > busyUntil) spent += 1;
      if (spent > retriesMax || !passes(cause)) throw cause;
      await pause(ctx, waitMs(cause, tries++));
    }
  }
}

/** The very bytes that were announced, or a refusal. */
async function bytesOf(file: HashedFile): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(file.size);
  let at = 0;
  await readSiteFile(file, (chunk) => {
    // One that has grown is refused by whoever reads it.
    if (at + chunk.length <= bytes.length) bytes.set(chunk, at);
    at += chunk.length;
  });
  if (new Bun.CryptoHasher('sha256').update(bytes).digest('hex') !== file.sha256) throw changed(file);
  return bytes;
}

/** Without a login: the address says it all, and is named in no message for that reason. */
async function put(ctx: Ctx, url: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
  const headers = { 'content-type': 'application/octet-stream' };
  const response = await request(ctx, url, { method: 'PUT', headers, body });
  if (response.ok) return;
  const shown = `${new URL(url).origin}/uploads/…`;
  const answer: unknown = await response.json().catch(() => undefined);
  throw answer === undefined
    ? new UnexpectedAnswerError(response.status, shown, response.headers.get('x-request-id'))
    : answerError(response, shown, answer);
}

function isBusy(cause: unknown): boolean {
  return cause instanceof ProblemError && cause.problem.status === 503;
}

/** What may be over in a moment. */
function passes(cause: unknown): boolean {
  if (cause instanceof ProblemError) return [408, 429, 503].includes(cause.problem.status);
  if (cause instanceof UnexpectedAnswerError) return cause.status >= 502;
  return cause instanceof CliError && (cause.code === 'no_connection' || cause.code === 'timeout');
}

function waitMs(cause: unknown, tries: number): number {
  const asked = cause instanceof ProblemError ? cause.retryAfterSeconds : null;
  return asked === null
    ? Math.min(backoffMsMax, 250 * 2 ** tries)
    : Math.min(retryAfterSecondsMax, asked) * 1000;
}
