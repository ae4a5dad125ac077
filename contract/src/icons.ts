import { endpoint, who } from './endpoint.ts';
import type * as shapes from './icons.shapes.ts';

export const iconBytesMax = 2 * 1024 * 1024;
/** On each side, in pixels; also what viewers must be ready to decode. */
export const iconSideMax = 4_096;
export const iconTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;
export type IconType = (typeof iconTypes)[number];
export const iconVariants = ['light', 'dark'] as const;
/** Long enough to send the file, too short to be worth keeping. */
export const iconUploadSeconds = 300;
/** An icon that no app refers to is kept so long. */
export const iconUnusedHours = 24;
/** Of those uploaded within `iconUnusedHours` that are still there. */
export const iconsPerPersonMax = 100;
/** By one person: as many uploads, refused ones too, and as many addresses of each kind. */
export const iconUploadsPerMinuteMax = 60;

const tenantWide = { credential: 'login', role: 'tenant_member', outsider: 'not_found' } as const;
const apps = '/api/v1/tenants/{tenantID}/apps';

/** Both are reads: what they hand out changes nothing until it is used. */
export const preCreateIcon = endpoint<typeof shapes.preCreateIcon>()({
  id: 'icons.preCreate',
  method: 'POST',
  path: `${apps}/icon/upload-url`,
  summary: 'An address to upload the icon of an app to that does not exist yet',
  kind: 'read',
  authority: tenantWide,
  who: who('O:y C:y A:y M:y P:n N:n X:n'),
  status: 200,
  errors: ['rate_limited'],
  perMinuteMax: iconUploadsPerMinuteMax,
});

export const signIcon = endpoint<typeof shapes.signIcon>()({
  id: 'icons.sign',
  method: 'POST',
  path: `${apps}/{app}/icon/upload-url`,
  summary: 'An address to upload an icon of an app to; the upload makes it the icon',
  kind: 'read',
  authority: { ...tenantWide, app: 'owners' },
  who: who('O:y C:y A:n M:n P:n N:n X:n'),
  status: 200,
  errors: ['not_found', 'invalid_state_transition', 'rate_limited'],
  perMinuteMax: iconUploadsPerMinuteMax,
});
