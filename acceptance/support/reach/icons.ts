import type { Reached } from '../reach.ts';
import type { World } from '../world.ts';

/** How the addresses for icons are reached; asking for one changes nothing. */
export const iconReach: Readonly<Record<string, (world: World) => Reached>> = {
  'icons.preCreate': ({ tenant }) => ({
    params: { tenantID: tenant.id },
    body: { slug: 'yet-to-be', content_type: 'image/png' },
  }),
  'icons.sign': ({ tenant, app }) => ({
    params: { tenantID: tenant.id, app: app.id },
    body: { content_type: 'image/webp', variant: 'dark' },
  }),
};
