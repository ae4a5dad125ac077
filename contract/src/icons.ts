import { anyMember, owners, read } from './endpoint.ts';
import type * as shapes from './icons.shapes.ts';

export const iconBytesMax = 2 * 1024 * 1024;
/** Pixels per side. */
export const iconSideMax = 4_096;
export const iconTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;
export type IconType = (typeof iconTypes)[number];
export const iconVariants = ['light', 'dark'] as const;
/** The URL that an upload answers with. */
export function isUploadedIcon(url: string): boolean {
  return /^https?:\/\/[^/?#@\s]+\/icons\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(url);
}
/** Null for URLs from the time when icons could be anywhere. */
export function uploadedIcon(url: string | null): string | null {
  return url !== null && isUploadedIcon(url) ? url : null;
}
export const iconUploadSeconds = 300;
export const iconUnusedHours = 24;
/** Counts icons uploaded within `iconUnusedHours` that still exist. */
export const iconsPerPersonMax = 100;
/** Per user; counts refused uploads too. */
export const iconUploadsPerMinuteMax = 60;

const apps = '/api/v1/tenants/{tenantID}/apps';

/** Both are reads: a signed URL changes nothing until it is used. */
export const preCreateIcon = read<typeof shapes.preCreateIcon>()({
  id: 'icons.preCreate',
  method: 'POST',
  path: `${apps}/icon/upload-url`,
  summary: 'Get an upload URL for the icon of an app that does not exist yet',
  ...anyMember,
  errors: ['rate_limited'],
  perMinuteMax: iconUploadsPerMinuteMax,
});

export const signIcon = read<typeof shapes.signIcon>()({
  id: 'icons.sign',
  method: 'POST',
  path: `${apps}/{app}/icon/upload-url`,
  summary: "Get an upload URL for an app's icon; the upload makes it the icon",
  ...owners,
  errors: ['invalid_state_transition', 'rate_limited'],
  perMinuteMax: iconUploadsPerMinuteMax,
});
