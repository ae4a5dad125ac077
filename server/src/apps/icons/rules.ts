import { type IconType, iconSideMax, type iconVariants } from '@svc/contract/icons.ts';
import type { Plan } from '@svc/contract/plan.ts';
import { type ImageFacts, readImage } from '@svc/contract/read-image.ts';
import type { AppAccess, AuditedChange } from '../../core/context.ts';
import { makePlan } from '../../core/plan.ts';
import { fail, validationError } from '../../core/problem.ts';

export type IconVariant = (typeof iconVariants)[number];

export interface IconUpload {
  id: string;
  url: string;
  variant: IconVariant;
  type: IconType;
  /** The slug may belong to an app that does not exist yet. */
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

/** Decided by content alone, not by name or header. */
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

/** Equal when the URL is signed and when it is used. */
export function uploadPlan(change: AuditedChange, { id, url }: Pick<IconUpload, 'id' | 'url'>): Plan {
  const operation = { id: change.action, irreversible: false };
  return makePlan(operation, [change], [], { ids: new Set([id, url]), now: new Date(0) });
}
