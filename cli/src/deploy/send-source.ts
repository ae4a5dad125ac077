import { answerError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { objectSumHeader } from '@svc/contract/storage.ts';
import type { Ctx } from '../context.ts';
import { request } from '../io.ts';
import { passes } from '../passes.ts';
import { pause } from '../waiting.ts';
import type { PackedFolder } from './pack-folder.ts';

const retriesMax = 6;
const backoffMsMax = 8_000;

/** Sends the archive, again when the line breaks: the server knows the same bytes by their sum, and takes them once. */
export async function sendSource(ctx: Ctx, packed: PackedFolder, url: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await put(ctx, packed, url);
    } catch (cause) {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      if (tries >= retriesMax || !passes(cause)) throw cause;
      await pause(ctx, Math.min(backoffMsMax, 250 * 2 ** tries));
    }
  }
}

/** Without a login: the address says it all, and is named in no message for that reason. */
async function put(ctx: Ctx, { bytes, sha256 }: PackedFolder, url: string): Promise<void> {
  const headers = { 'content-type': 'application/gzip', [objectSumHeader]: sha256 };
  const response = await request(ctx, url, { method: 'PUT', headers, body: bytes });
  if (response.ok) return;
  const shown = `${new URL(url).origin}/sources/…`;
  const answer: unknown = await response.json().catch(() => undefined);
  throw answer === undefined
    ? new UnexpectedAnswerError(response.status, shown, response.headers.get('x-request-id'))
    : answerError(response, shown, answer);
}
