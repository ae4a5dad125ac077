import { iconBytesMax, iconUploadsPerMinuteMax } from '@svc/contract/icons.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { RequestInfo } from '../plumbing/api.ts';
import { createByteBudget } from '../plumbing/byte-budget.ts';
import { sha256 as sha256Of } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';
import { type MutationResult, runMutation } from '../plumbing/mutation.ts';
import type { Outbox } from '../plumbing/outbox-rows.ts';
import { Failure, fail } from '../plumbing/problem.ts';
import type { RateLimit } from '../plumbing/rate-limit.ts';
import { readBody } from '../plumbing/read-body.ts';
import { claimsOf, type IconClaims, type IconSigner } from './claims.ts';
import { findUploader, type Uploader } from './find-uploader.ts';
import { alreadyUploaded, keepIcon, type ReceivedIcon } from './keep-icon.ts';
import { iconKey, iconUrl, judgeImage } from './rules.ts';
import { findIconRow } from './store.ts';

export interface IconParts {
  db: Db;
  outbox: Outbox;
  objects: ObjectStore;
  signer: IconSigner;
  now: () => Date;
  rateLimit: RateLimit;
  onCommitted?: (tag: string) => void;
}

/** Of all icons that are being received together. */
const receivingBytesMax = 64 * 1024 * 1024;
const budget = createByteBudget({ bytesMax: receivingBytesMax, waitMsMax: 10_000 });

/** One upload to an address that was given out for it: judged whole before a byte of it is stored. */
export async function receiveIcon(
  parts: IconParts,
  { id, token, request, info }: { id: string; token: string | null; request: Request; info: RequestInfo },
): Promise<Response> {
  const claims = claimsOf({ key: parts.signer.key, now: parts.now() }, { id, token });
  parts.rateLimit(claims.user, iconUploadsPerMinuteMax);
  const uploader = await findUploader(parts.db, claims);
  if (await findIconRow(parts.db, id)) throw alreadyUploaded();
  requireType(request, claims);
  const account = budget.open(claims.user);
  try {
    const bytes = await readBody(request, { bytesMax: iconBytesMax, account });
    const image = judgeImage(bytes, claims.type);
    const upload = { ...claims, url: iconUrl(parts.signer.baseUrl, id) };
    const facts = { size: bytes.byteLength, sha256: sha256Of(bytes), objectId: Bun.randomUUIDv7() };
    const received = { upload, image, ...facts, ifPlan: ifPlanOf(request) };
    const keep = (mode: 'preview' | 'execute') => keepReceived(parts, { mode, uploader, received, info });
    // What is refused anyway never reaches the store.
    await keep('preview');
    // Before the row: what is announced is there. Bytes that no row follows are swept.
    const key = iconKey({ id, object_id: facts.objectId });
    await parts.objects.put(key, once(bytes), { bytesMax: iconBytesMax, signal: info.deadline });
    const result = await keep('execute').catch(async (error: unknown) => {
      await takeAway(parts, { key, error, info });
      throw error;
    });
    if (result.kind !== 'done') throw new Error('An upload was previewed.');
    const { status, headers, body } = result.answer;
    return new Response(body, {
      status,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    });
  } finally {
    account.close();
  }
}

function keepReceived(
  { db, outbox, onCommitted }: IconParts,
  it: { mode: 'preview' | 'execute'; uploader: Uploader; received: ReceivedIcon; info: RequestInfo },
): Promise<MutationResult> {
  const { requestId, log, deadline } = it.info;
  const { caller, ...place } = it.uploader;
  return runMutation(
    { db, outbox, requestId, log, caller, ...(onCommitted ? { onCommitted } : {}) },
    {
      mode: it.mode,
      operation: { id: place.app ? 'icons.set' : 'icons.upload', irreversible: false },
      auditTenantId: place.tenant.id,
      deadline,
      verb: async (ctx) => {
        const icon = await keepIcon({ ...ctx, ...place }, it.received);
        return { status: 201, headers: { location: icon.icon_url }, body: JSON.stringify(icon) };
      },
    },
  );
}

/** Only where it is certain that no row stands for them: a connection that was lost may have lost the answer alone. */
async function takeAway(
  { objects }: IconParts,
  { key, error, info }: { key: string; error: unknown; info: RequestInfo },
): Promise<void> {
  if (!(error instanceof Failure)) return;
  // The sweep comes in any case; the refusal is what there is to tell.
  await objects
    .delete(key)
    .catch((fault: unknown) => info.log.warn({ err: fault, key }, 'could not remove a refused icon'));
}

/** What the client says it sends must not contradict what it was allowed to; what it sends is looked at in any case. */
function requireType(request: Request, { type }: IconClaims): void {
  const said = request.headers.get('content-type');
  if (said !== null && said !== type) throw fail('unsupported_media_type', { detail: `Send it as ${type}.` });
}

function ifPlanOf(request: Request): string | null {
  return request.headers.get('if-plan')?.replace(/^"|"$/g, '') ?? null;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
