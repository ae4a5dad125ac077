import { type IconType, iconSideMax, type iconVariants } from '@svc/contract/icons.ts';
import type { Plan } from '@svc/contract/plan.ts';
import { type ImageFacts, readImage } from '@svc/contract/read-image.ts';
import type { AppAccess, AuditedChange } from '../plumbing/context.ts';
import { makePlan } from '../plumbing/plan.ts';
import { fail, invalid } from '../plumbing/problem.ts';

export type IconVariant = (typeof iconVariants)[number];

/** What an address for an upload was given out for. */
export interface IconUpload {
  id: string;
  url: string;
  variant: IconVariant;
  type: IconType;
  /** Of the app, also of one that is yet to be. */
  slug: string;
}

export const iconColumns = { light: 'icon_url', dark: 'icon_dark_url' } as const satisfies Record<
  IconVariant,
  string
>;

export function iconUrl(baseUrl: string, id: string): string {
  return `${baseUrl}/icons/${id}`;
}

/** Each upload has a key of its own: of two who race for one address neither writes over the other, or takes its bytes away. */
export function iconKey({ id, object_id }: { id: string; object_id: string }): string {
  return `icons/${id}/${object_id}`;
}

/** By its content alone: neither a name nor a header makes an image of what is none. */
export function judgeImage(bytes: Uint8Array, wanted: IconType): ImageFacts {
  const image = readImage(bytes);
  if (image?.type !== wanted) {
    throw fail('unsupported_media_type', {
      detail: image
        ? `The content is ${image.type}; the address was given out for ${wanted}.`
        : `The content is no ${wanted}; PNG, JPEG, WEBP and GIF are taken.`,
    });
  }
  const isSound = [image.width, image.height].every((side) => side >= 1 && side <= iconSideMax);
  if (!isSound) throw invalid('file', `must be 1 to ${iconSideMax} pixels wide and high`, 'image_size');
  return image;
}

/** As for any other change of the app's record. */
export function refuseArchived({ record }: Pick<AppAccess, 'record'>): void {
  if (record === 'archived')
    throw fail('invalid_state_transition', { detail: 'The app is archived; reactivate it first.' });
}

export function settingOf(
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

/** Of one that is there before its app. */
export function creationOf({ id, url, variant, type, slug }: IconUpload): AuditedChange {
  return {
    action: 'icons.upload',
    target: { kind: 'icon', id, name: slug },
    before: null,
    after: { icon_url: url, variant, content_type: type },
  };
}

/** The same when the address is given out and when it is used, and for each address that is given out. */
export function planOf(change: AuditedChange, { id, url }: Pick<IconUpload, 'id' | 'url'>): Plan {
  const operation = { id: change.action, irreversible: false };
  return makePlan(operation, [change], [], { ids: new Set([id, url]), now: new Date(0) });
}
