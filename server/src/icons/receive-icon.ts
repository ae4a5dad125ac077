import { iconBytesMax } from '@svc/contract/icons.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { RequestInfo } from '../plumbing/api.ts';
import { createByteBudget } from '../plumbing/byte-budget.ts';
import { sha256 as sha256Of } from '../plumbing/canonical.ts';
import type { Db } from '../plumbing/db.ts';
import { runMutation } from '../plumbing/mutation.ts';
import type { Outbox } from '../plumbing/outbox-rows.ts';
import { fail } from '../plumbing/problem.ts';
import { readBody } from '../plumbing/read-body.ts';
import { claimsOf, type IconClaims, type IconSigner } from './claims.ts';
import { findUploader } from './find-uploader.ts';
import { alreadyUploaded, keepIcon } from './keep-icon.ts';
import { iconKey, iconUrl, judgeImage } from './rules.ts';
import { findIconRow } from './store.ts';

export interface IconParts {
  db: Db;
  outbox: Outbox;
  objects: ObjectStore;
  signer: IconSigner;
  now: () => Date;
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
  const { caller, ...place } = await findUploader(parts.db, claims);
  if (await findIconRow(parts.db, id)) throw alreadyUploaded();
  requireType(request, claims);
  const account = budget.open(claims.user);
  try {
    const bytes = await readBody(request, { bytesMax: iconBytesMax, account });
    const image = judgeImage(bytes, claims.type);
    const sha256 = sha256Of(bytes);
    const bounds = { bytesMax: iconBytesMax, signal: info.deadline };
    // Before the row: what is announced is there. Bytes that no row follows are swept.
    await parts.objects.put(iconKey({ id, sha256 }), once(bytes), bounds);
    const { requestId, log, deadline } = info;
    const { db, outbox, onCommitted } = parts;
    const result = await runMutation(
      { db, outbox, requestId, log, caller, ...(onCommitted ? { onCommitted } : {}) },
      {
        mode: 'execute',
        operation: { id: claims.app === null ? 'icons.upload' : 'icons.set', irreversible: false },
        auditTenantId: place.tenant.id,
        deadline,
        verb: async (ctx) => {
          const upload = { ...claims, url: iconUrl(parts.signer.baseUrl, id) };
          const received = { upload, image, size: bytes.byteLength, sha256, ifPlan: ifPlanOf(request) };
          const icon = await keepIcon({ ...ctx, ...place }, received);
          return { status: 201, headers: { location: icon.icon_url }, body: JSON.stringify(icon) };
        },
      },
    );
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
