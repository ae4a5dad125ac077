import type { ResourcePreset } from '@svc/contract/resource-presets.shapes.ts';
import { resourcesOf, usualTier } from '@svc/contract/resource-presets.ts';
import type { z } from 'zod';
import { isWithinTier, type ResourceTier } from '../apps/rules.ts';

export type ResourcePresetRecord = z.output<typeof ResourcePreset>;

export function resourcePreset(tier: ResourceTier, { max }: { max: ResourceTier }): ResourcePresetRecord {
  return {
    name: tier,
    ...resourcesOf[tier],
    allowed: isWithinTier(tier, max),
    default: tier === usualTier(max),
  };
}
