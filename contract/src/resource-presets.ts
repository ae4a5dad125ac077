import { endpoint, who } from './endpoint.ts';
import { readsPerMinuteMax, resourceTiers } from './limits.ts';
import type * as shapes from './resource-presets.shapes.ts';

/** What an app of each tier may use: cores, and memory in MiB. */
export const resourcesOf: Readonly<
  Record<(typeof resourceTiers)[number], Readonly<{ cpu: number; memory_mb: number }>>
> = {
  XS: { cpu: 0.25, memory_mb: 256 },
  S: { cpu: 0.5, memory_mb: 512 },
  M: { cpu: 1, memory_mb: 1024 },
  L: { cpu: 2, memory_mb: 2048 },
  XL: { cpu: 4, memory_mb: 4096 },
};

/** Of an app that asks for none: S, or the tenant's highest where that is lower. */
export function usualTier(max: (typeof resourceTiers)[number]): (typeof resourceTiers)[number] {
  return resourceTiers.indexOf(max) < resourceTiers.indexOf('S') ? max : 'S';
}

export const listResourcePresets = endpoint<typeof shapes.listResourcePresets>()({
  id: 'resourcePresets.list',
  method: 'GET',
  path: '/api/v1/tenants/{tenantID}/resource-presets',
  summary: 'The resource tiers of apps, what each gives, and which of them the tenant may use',
  kind: 'read',
  authority: { credential: 'login', role: 'tenant_member', outsider: 'not_found' },
  who: who('O:y C:y A:y M:y P:n N:n X:n'),
  status: 200,
  perMinuteMax: readsPerMinuteMax,
});
