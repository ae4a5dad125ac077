import { type IconType, iconBytesMax, iconUploadSeconds } from '@svc/contract/icons.ts';
import type { AuditedChange, TenantCtx } from '../../core/context.ts';
import type { LiveKey } from '../../core/keys.ts';
import { type Failure, fail } from '../../core/problem.ts';
import { signUrlToken, type UrlClaims, verifyUrlToken } from '../../http/signed-url.ts';
import { type IconUpload, type IconVariant, iconUrl, uploadPlan } from './rules.ts';

/** Signed into the upload URL; readable by the client, so it must hold no secret. */
export interface IconClaims extends UrlClaims {
  purpose: 'icon';
  id: string;
  tenant: string;
  /** Null before the app exists. */
  app: string | null;
  slug: string;
  variant: IconVariant;
  type: IconType;
  user: string;
}

export interface IconSigner {
  baseUrl: string;
  key: LiveKey<string>;
}

export interface UploadInput {
  signer: IconSigner;
  variant: IconVariant;
  type: IconType;
}

/** `change`: what the upload will change, for the plan. */
export function signUpload(
  { now, tenant, caller }: TenantCtx,
  { signer, variant, type }: UploadInput,
  { app, slug, change }: { app: string | null; slug: string; change: (upload: IconUpload) => AuditedChange },
) {
  const id = Bun.randomUUIDv7();
  const upload = { id, url: iconUrl(signer.baseUrl, id), variant, type, slug };
  const expires = Math.floor(now.getTime() / 1000) + iconUploadSeconds;
  const user = caller.userId;
  const claims: IconClaims = {
    purpose: 'icon',
    expires,
    id,
    tenant: tenant.id,
    app,
    slug,
    variant,
    type,
    user,
  };
  return {
    put_url: `${upload.url}?token=${signUrlToken(signer.key, claims)}`,
    icon_url: upload.url,
    content_type: type,
    variant,
    bytes_max: iconBytesMax,
    expires_at: new Date(expires * 1000).toISOString(),
    plan: uploadPlan(change(upload), upload),
  };
}

export function verifyClaims(
  { key, now }: { key: LiveKey<string>; now: Date },
  { id, token }: { id: string; token: string | null },
): IconClaims {
  const claims = token === null ? null : verifyUrlToken<IconClaims>(key, token, now);
  if (claims === 'expired') throw fail('url_expired');
  if (claims?.purpose !== 'icon' || claims.id !== id)
    throw fail('forbidden', { detail: 'This is not a valid upload URL. Request one first.' });
  return claims;
}

export function uploadForbiddenError(): Failure {
  return fail('forbidden', { detail: 'The user who requested this URL is no longer allowed to upload.' });
}
