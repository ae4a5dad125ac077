import type { Reached } from '../reach.ts';
import type { World } from '../world.ts';

export const appMetricsReach: Readonly<Record<string, (world: World) => Reached>> = {
  'apps.metrics': ({ tenant, app }) => ({ params: { tenantID: tenant.id, app: app.id } }),
};
