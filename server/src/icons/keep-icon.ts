import type { Icon } from '@svc/contract/icons.shapes.ts';
import { iconsPerPersonMax, iconUnusedHours } from '@svc/contract/icons.ts';
import type { ImageFacts } from '@svc/contract/read-image.ts';
import type { z } from 'zod';
import { holdApp } from '../apps/hold-app.ts';
import { setAppIcon } from '../apps/set-app-icon.ts';
import type { AppAccess, AuditedChange, TenantMutationCtx } from '../plumbing/context.ts';
import { Failure, fail } from '../plumbing/problem.ts';
import { holdMember } from '../tenants/find-member.ts';
import { mayNoMore } from './claims.ts';
import { creationOf, type IconUpload, iconColumns, planOf, refuseArchived, settingOf } from './rules.ts';
import { countIconRowsOf, insertIconRow } from './store.ts';

export interface ReceivedIcon {
  upload: IconUpload;
  image: ImageFacts;
  size: number;
  sha256: string;
  objectId: string;
  /** The fingerprint of what the upload was announced to change. */
  ifPlan: string | null;
}

export type UploadCtx = TenantMutationCtx & { app?: AppAccess };

/** When it is executed, the bytes are stored already; from here on they are an icon, and of an app the one that it has now. */
export async function keepIcon(
  ctx: UploadCtx,
  { upload, image, size, sha256, objectId, ifPlan }: ReceivedIcon,
): Promise<z.output<typeof Icon>> {
  const { id, url, variant, type } = upload;
  const change = await changeOf(ctx, upload);
  if (ifPlan !== null && ifPlan !== planOf(change, upload).fingerprint) throw fail('plan_stale');
  await refuseTooMany(ctx);
  const app_id = ctx.app?.id ?? null;
  const facts = {
    id,
    app_id,
    variant,
    content_type: type,
    size,
    width: image.width,
    height: image.height,
    sha256,
  };
  const made = { tenant_id: ctx.tenant.id, created_by: ctx.caller.userId, created_at: ctx.now };
  if (!(await insertIconRow(ctx.db, { ...facts, ...made, object_id: objectId }))) throw alreadyUploaded();
  if (app_id !== null)
    await setAppIcon(ctx, { tenantId: ctx.tenant.id, appId: app_id, column: iconColumns[variant], url });
  ctx.audit(change);
  return { ...facts, icon_url: url };
}

export function alreadyUploaded() {
  return fail('already_uploaded', { detail: 'This address was used already; ask for another.' });
}

/** Asks once more, under a lock, whether who was given the address still may. */
async function changeOf(ctx: UploadCtx, upload: IconUpload): Promise<AuditedChange> {
  const { app } = ctx;
  if (app) {
    const held = await holdApp({ ...ctx, app }, { wanted: 'owners' }).catch(refuse);
    refuseArchived(held);
    return settingOf(held, upload);
  }
  const member = await holdMember(ctx.db, ctx.tenant.id, ctx.caller.userId);
  if (member?.status !== 'active') throw mayNoMore();
  return creationOf(upload);
}

/** That the app is there is no secret to who was given an address for it. */
function refuse(error: unknown): never {
  const isRight = error instanceof Failure && (error.code === 'not_found' || error.code === 'forbidden');
  throw isRight ? mayNoMore() : error;
}

/** Icons that no app refers to cost room until they are swept. */
async function refuseTooMany(ctx: UploadCtx): Promise<void> {
  const since = new Date(ctx.now.getTime() - iconUnusedHours * 3_600_000);
  const count = await countIconRowsOf(ctx.db, ctx.tenant.id, { userId: ctx.caller.userId, since });
  if (count < iconsPerPersonMax) return;
  throw fail('limit_reached', {
    detail: `You have uploaded ${iconsPerPersonMax} icons within ${iconUnusedHours} hours; try again later.`,
  });
}
