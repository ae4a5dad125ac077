import {
  type IconType,
  iconBytesMax,
  iconSideMax,
  iconUploadSeconds,
  type iconVariants,
} from '@svc/contract/icons.ts';
import type { Plan } from '@svc/contract/plan.ts';
import { type ImageFacts, readImage } from '@svc/contract/read-image.ts';
import type { AppAccess, AuditedChange, TenantCtx } from '../../core/context.ts';
import type { LiveKey } from '../../core/keys.ts';
import { makePlan } from '../../core/plan.ts';
import { type Failure, fail, validationError } from '../../core/problem.ts';
import { signUrlToken, type UrlClaims, verifyUrlToken } from '../../http/signed-url.ts';

type IconVariant = (typeof iconVariants)[number];

export interface IconUpload {
  id: string;
  url: string;
  variant: IconVariant;
  type: IconType;
  slug: string;
}

export const iconColumns = { light: 'icon_url', dark: 'icon_dark_url' } as const satisfies Record<
  IconVariant,
  string
>;

export function iconUrl(baseUrl: string, id: string): string {
  return `${baseUrl}/icons/${id}`;
}

/** Each upload has its own key: concurrent uploads to one URL cannot overwrite or delete each other's bytes. */
export function iconKey({ id, object_id }: { id: string; object_id: string }): string {
  return `icons/${id}/${object_id}`;
}

export function validateImage(bytes: Uint8Array, expected: IconType): ImageFacts {
  const image = readImage(bytes);
  if (image?.type !== expected) {
    throw fail('unsupported_media_type', {
      detail: image
        ? `The content is ${image.type}; the upload URL is for ${expected}.`
        : `The content is not ${expected}. Allowed: PNG, JPEG, WEBP and GIF.`,
    });
  }
  const isValidSize = [image.width, image.height].every((side) => side >= 1 && side <= iconSideMax);
  if (!isValidSize)
    throw validationError('file', `must be 1 to ${iconSideMax} pixels wide and high`, 'image_size');
  return image;
}

export function requireNotArchived({ record }: Pick<AppAccess, 'record'>): void {
  if (record === 'archived')
    throw fail('invalid_state_transition', { detail: 'The app is archived; reactivate it first.' });
}

export function setIconChange(
  app: { id: string; slug: string; icon_url: string | null; icon_dark_url: string | null },
  { url, variant }: Pick<IconUpload, 'url' | 'variant'>,
): AuditedChange {
  const column = iconColumns[variant];
  return {
    action: 'icons.set',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: { [column]: app[column] },
    after: { [column]: url },
  };
}

export function uploadIconChange({ id, url, variant, type, slug }: IconUpload): AuditedChange {
  return {
    action: 'icons.upload',
    target: { kind: 'icon', id, name: slug },
    before: null,
    after: { icon_url: url, variant, content_type: type },
  };
}

export function uploadPlan(change: AuditedChange, { id, url }: Pick<IconUpload, 'id' | 'url'>): Plan {
  const operation = { id: change.action, irreversible: false };
  return makePlan(operation, [change], [], { ids: new Set([id, url]), now: new Date(0) });
}

/** Signed into the upload URL; readable by the client, so it must hold no secret. */
export interface IconClaims extends UrlClaims {
  purpose: 'icon';
  id: string;
  tenant: string;
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
