import { anyMember, read } from './endpoint.ts';
import { readsPerMinuteMax, resourceTiers } from './limits.ts';
import type * as shapes from './resource-presets.shapes.ts';

/** Cores, and memory and disk space in MiB. */
export const resourcesOf: Readonly<
  Record<(typeof resourceTiers)[number], Readonly<{ cpu: number; memory_mb: number; disk_mb: number }>>
> = {
  XS: { cpu: 0.25, memory_mb: 256, disk_mb: 512 },
  S: { cpu: 0.5, memory_mb: 512, disk_mb: 1024 },
  M: { cpu: 1, memory_mb: 1024, disk_mb: 2048 },
  L: { cpu: 2, memory_mb: 2048, disk_mb: 5120 },
  XL: { cpu: 4, memory_mb: 4096, disk_mb: 10_240 },
};

export function usualTier(max: (typeof resourceTiers)[number]): (typeof resourceTiers)[number] {
  return resourceTiers.indexOf(max) < resourceTiers.indexOf('S') ? max : 'S';
}

export const listResourcePresets = read<typeof shapes.listResourcePresets>()({
  id: 'resourcePresets.list',
  path: '/api/v1/tenants/{tenantID}/resource-presets',
  summary: 'List the resource tiers of apps, and which of them the tenant may use',
  ...anyMember,
  perMinuteMax: readsPerMinuteMax,
});
