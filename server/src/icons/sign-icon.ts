import type { IconType } from '@svc/contract/icons.ts';
import { getApp } from '../apps/get-app.ts';
import type { AppCtx } from '../plumbing/context.ts';
import { type IconSigner, signedUpload } from './claims.ts';
import { type IconVariant, iconUrl, planOf, refuseArchived, settingOf } from './rules.ts';

export async function signIcon(
  ctx: AppCtx,
  { signer, variant, type }: { signer: IconSigner; variant: IconVariant; type: IconType },
) {
  const app = await getApp(ctx);
  refuseArchived(app);
  const id = Bun.randomUUIDv7();
  const upload = { id, url: iconUrl(signer.baseUrl, id), variant, type, slug: app.slug };
  return signedUpload(
    { key: signer.key, now: ctx.now },
    { ...upload, tenant: ctx.tenant.id, app: app.id, user: ctx.caller.userId },
    planOf(settingOf(app, upload), upload),
  );
}
