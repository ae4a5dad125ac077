import type { Icon } from '@svc/contract/icons.shapes.ts';
import {
  iconBytesMax,
  iconsPerPersonMax,
  iconUnusedHours,
  iconUploadsPerMinuteMax,
} from '@svc/contract/icons.ts';
import type { z } from 'zod';
import {
  type AppAccess,
  type AuditedChange,
  type Caller,
  satisfiesRelation,
  type TenantAccess,
  type TenantMutationCtx,
} from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type MutationResult, type OperatorDeps, runMutation } from '../../core/mutation.ts';
import { Failure, fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { RequestInfo } from '../../http/handlers.ts';
import type { RateLimit } from '../../http/rate-limit.ts';
import { createByteBudget, readBody } from '../../http/read-body.ts';
import { findMember, lockMemberForShare } from '../../people/tenants/members.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { lockAppFor } from '../record/app-access.ts';
import { findApp } from '../record/find-app.ts';
import { setAppIcon } from '../record/status-store.ts';
import { countIconRows, findIconRow, type IconRow, insertIconRow } from './store.ts';
import {
  type IconClaims,
  type IconSigner,
  type IconUpload,
  iconColumns,
  iconKey,
  iconUrl,
  requireNotArchived,
  setIconChange,
  uploadForbiddenError,
  uploadIconChange,
  uploadPlan,
  validateImage,
  verifyClaims,
} from './uploads.ts';

export interface IconDeps extends Omit<OperatorDeps, 'log'> {
  objects: ObjectStore;
  signer: IconSigner;
  now: () => Date;
  rateLimit: RateLimit;
  onCommitted?: (tag: string) => void;
}

const receivingBytesMax = 64 * 1024 * 1024;
const budget = createByteBudget({ bytesMax: receivingBytesMax, waitMsMax: 10_000 });

export async function receiveIcon(
  deps: IconDeps,
  { id, token, request, info }: { id: string; token: string | null; request: Request; info: RequestInfo },
): Promise<Response> {
  const claims = verifyClaims({ key: deps.signer.key, now: deps.now() }, { id, token });
  deps.rateLimit(claims.user, iconUploadsPerMinuteMax);
  const uploader = await findUploader(deps.db, claims);
  if (await findIconRow(deps.db, id)) throw alreadyUploadedError();
  requireType(request, claims);
  const account = budget.open(claims.user);
  try {
    const bytes = await readBody(request, { bytesMax: iconBytesMax, budget: account });
    const { width, height } = validateImage(bytes, claims.type);
    const object_id = Bun.randomUUIDv7();
    const received: ReceivedIcon = {
      upload: { ...claims, url: iconUrl(deps.signer.baseUrl, id) },
      facts: { object_id, size: bytes.byteLength, sha256: sha256(bytes), width, height },
      ifPlan: request.headers.get('if-plan')?.replace(/^"|"$/g, '') ?? null,
    };
    const run = (mode: 'preview' | 'execute') => runUpload(deps, { mode, uploader, received, info });
    // Dry run first: an upload that would be refused never reaches the object store.
    await run('preview');
    // Bytes before row, so that a row always has its bytes. A job deletes bytes without a row.
    const key = iconKey({ id, object_id });
    await deps.objects.put(key, once(bytes), { bytesMax: iconBytesMax, signal: info.deadline });
    const result = await run('execute').catch(async (error: unknown) => {
      await deleteRefusedObject(deps, { key, error, info });
      throw error;
    });
    if (result.kind !== 'done') throw new Error('upload not executed');
    const { status, headers, body } = result.response;
    return new Response(body, {
      status,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    });
  } finally {
    account.close();
  }
}

function runUpload(
  { db, outbox, events, onCommitted }: IconDeps,
  it: { mode: 'preview' | 'execute'; uploader: Uploader; received: ReceivedIcon; info: RequestInfo },
): Promise<MutationResult> {
  const { requestId, log, deadline } = it.info;
  const { caller, ...access } = it.uploader;
  return runMutation(
    { db, outbox, events, requestId, log, caller, onCommitted },
    {
      mode: it.mode,
      operation: { id: access.app ? 'icons.set' : 'icons.upload', irreversible: false },
      auditTenantId: access.tenant.id,
      deadline,
      useCase: async (ctx) => {
        const icon = await storeIcon({ ...ctx, ...access }, it.received);
        return { status: 201, headers: { location: icon.icon_url }, body: JSON.stringify(icon) };
      },
    },
  );
}

/** Only when it is certain that no row was committed: after a lost connection, the commit may have succeeded. */
async function deleteRefusedObject(
  { objects }: IconDeps,
  { key, error, info }: { key: string; error: unknown; info: RequestInfo },
): Promise<void> {
  if (!(error instanceof Failure)) return;
  // The cleanup job deletes the object in any case; report the original error.
  await objects
    .delete(key)
    .catch((fault: unknown) => info.log.warn({ err: fault, key }, 'deletion of a refused icon failed'));
}

/** A declared media type must not contradict the signed one; the content is checked in any case. */
function requireType(request: Request, { type }: IconClaims): void {
  const declared = request.headers.get('content-type');
  if (declared !== null && declared !== type)
    throw fail('unsupported_media_type', { detail: `The content type must be ${type}.` });
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

interface Uploader {
  caller: Caller;
  tenant: TenantAccess;
  app?: AppAccess;
}

async function findUploader(db: Db, claims: IconClaims): Promise<Uploader> {
  const tenant = await findTenant({ db }, { ref: claims.tenant });
  if (!tenant) throw uploadForbiddenError();
  const { id, slug, name } = tenant;
  const member = await findMember(db, id, claims.user);
  if (member?.status !== 'active') throw uploadForbiddenError();
  const access: TenantAccess = { id, slug, name, role: member.role };
  const caller: Caller = {
    kind: 'login',
    userId: member.userId,
    email: member.email,
    name: member.email,
    credentialId: claims.id,
    expiresAt: new Date(claims.expires * 1000),
  };
  if (claims.app === null) return { caller, tenant: access };
  const app = await findApp(db, access, { ref: claims.app, caller });
  if (!app || !satisfiesRelation('owners', app, access)) throw uploadForbiddenError();
  return { caller, tenant: access, app };
}

interface ReceivedIcon {
  upload: IconUpload;
  facts: Pick<IconRow, 'size' | 'sha256' | 'object_id' | 'width' | 'height'>;
  ifPlan: string | null;
}

type UploadCtx = TenantMutationCtx & { app?: AppAccess };

async function storeIcon(
  ctx: UploadCtx,
  { upload, facts, ifPlan }: ReceivedIcon,
): Promise<z.output<typeof Icon>> {
  const { id, url, variant, type } = upload;
  const change = await authorizeUpload(ctx, upload);
  if (ifPlan !== null && ifPlan !== uploadPlan(change, upload).fingerprint) throw fail('plan_stale');
  await requireUploadQuota(ctx);
  const app_id = ctx.app?.id ?? null;
  const { object_id, ...listed } = { ...facts, id, app_id, variant, content_type: type };
  const created = { tenant_id: ctx.tenant.id, created_by: ctx.caller.userId, created_at: ctx.now };
  if (!(await insertIconRow(ctx.db, { ...listed, ...created, object_id }))) throw alreadyUploadedError();
  if (app_id !== null)
    await setAppIcon(ctx, { tenantId: ctx.tenant.id, appId: app_id }, { column: iconColumns[variant], url });
  ctx.audit(change);
  return { ...listed, icon_url: url };
}

function alreadyUploadedError() {
  return fail('already_uploaded', { detail: 'This URL was already used. Request another one.' });
}

/** Authorizes the uploader again under the app's row lock. */
async function authorizeUpload(ctx: UploadCtx, upload: IconUpload): Promise<AuditedChange> {
  const { app } = ctx;
  if (app) {
    const locked = await lockAppFor({ ...ctx, app }, { required: 'owners' }).catch(rethrowAsForbidden);
    requireNotArchived(locked);
    return setIconChange(locked, upload);
  }
  const member = await lockMemberForShare(ctx.db, ctx.tenant.id, ctx.caller.userId);
  if (member?.status !== 'active') throw uploadForbiddenError();
  return uploadIconChange(upload);
}

/** The uploader was authorized for the app when the URL was signed: its existence is not secret. */
function rethrowAsForbidden(error: unknown): never {
  const isDenied = error instanceof Failure && (error.code === 'not_found' || error.code === 'forbidden');
  throw isDenied ? uploadForbiddenError() : error;
}

/** Unreferenced icons take space until the cleanup job deletes them. */
async function requireUploadQuota(ctx: UploadCtx): Promise<void> {
  const since = new Date(ctx.now.getTime() - iconUnusedHours * 3_600_000);
  const count = await countIconRows(ctx.db, ctx.tenant.id, { userId: ctx.caller.userId, since });
  if (count < iconsPerPersonMax) return;
  throw fail('limit_reached', {
    detail: `You have uploaded ${iconsPerPersonMax} icons within ${iconUnusedHours} hours; try again later.`,
  });
}
