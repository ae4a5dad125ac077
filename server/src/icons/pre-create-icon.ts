import type { IconType } from '@svc/contract/icons.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { type IconSigner, signedUpload } from './claims.ts';
import { creationOf, type IconVariant, iconUrl, planOf } from './rules.ts';

/** The app takes it up by its address when it is created, or the icon is forgotten. */
export async function preCreateIcon(
  ctx: TenantCtx,
  { signer, ...given }: { signer: IconSigner; slug: string; variant: IconVariant; type: IconType },
) {
  const id = Bun.randomUUIDv7();
  const upload = { id, url: iconUrl(signer.baseUrl, id), ...given };
  return signedUpload(
    { key: signer.key, now: ctx.now },
    { ...upload, tenant: ctx.tenant.id, app: null, user: ctx.caller.userId },
    planOf(creationOf(upload), upload),
  );
}
