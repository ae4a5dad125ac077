import type { World } from '../world.ts';

export const appMetricsInputs: Readonly<Record<string, (world: World) => string[]>> = {
  metrics: ({ app }) => ['--app', app.slug, '--range', '24h'],
};
