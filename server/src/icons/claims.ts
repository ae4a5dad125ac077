import { type IconType, iconBytesMax, iconUploadSeconds } from '@svc/contract/icons.ts';
import type { Plan } from '@svc/contract/plan.ts';
import { type Failure, fail } from '../plumbing/problem.ts';
import { readUrlToken, signUrlToken, type UrlClaims } from '../plumbing/signed-url.ts';
import type { IconUpload, IconVariant } from './rules.ts';

/** What the token of an upload's address says. It holds names of ours and the slug, nothing that is secret. */
export interface IconClaims extends UrlClaims {
  purpose: 'icon';
  id: string;
  tenant: string;
  /** Null before there is one. */
  app: string | null;
  slug: string;
  variant: IconVariant;
  type: IconType;
  user: string;
}

export interface IconSigner {
  baseUrl: string;
  /** Signs addresses. */
  key: string;
}

/** The answer to who may upload. */
export function signedUpload(
  { key, now }: { key: string; now: Date },
  upload: IconUpload & { tenant: string; app: string | null; user: string },
  plan: Plan,
) {
  const { id, url, variant, type, slug, tenant, app, user } = upload;
  const expires = Math.floor(now.getTime() / 1000) + iconUploadSeconds;
  const claims: IconClaims = { purpose: 'icon', expires, id, tenant, app, slug, variant, type, user };
  return {
    put_url: `${url}?token=${signUrlToken(key, claims)}`,
    icon_url: url,
    content_type: type,
    variant,
    bytes_max: iconBytesMax,
    expires_at: new Date(expires * 1000).toISOString(),
    plan,
  };
}

/** What an address that is used now was given out for. */
export function claimsOf(
  { key, now }: { key: string; now: Date },
  { id, token }: { id: string; token: string | null },
): IconClaims {
  const claims = token === null ? null : readUrlToken<IconClaims>(key, token, now);
  if (claims === 'expired') throw fail('url_expired');
  if (claims?.purpose !== 'icon' || claims.id !== id)
    throw fail('forbidden', { detail: 'Icons are uploaded to an address that was given out for it.' });
  return claims;
}

export function mayNoMore(): Failure {
  return fail('forbidden', { detail: 'Whoever was given this address may no longer do this.' });
}
