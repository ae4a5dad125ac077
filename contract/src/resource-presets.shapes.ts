import { z } from 'zod';
import { resourceTiers } from './limits.ts';
import { page, pageQuery, tenantParams } from './shapes.ts';

export const ResourcePreset = z.object({
  name: z.enum(resourceTiers),
  cpu: z.number().meta({ description: 'Cores.' }),
  memory_mb: z.int().meta({ description: 'Memory in MiB.' }),
  disk_mb: z.int().meta({ description: 'Disk space of the files that a running app writes, in MiB.' }),
  allowed: z.boolean().meta({ description: "Whether it is within the tenant's `max_resource_tier`." }),
  default: z.boolean().meta({ description: 'The default tier.' }),
});

export const listResourcePresets = { params: tenantParams, query: pageQuery, answer: page(ResourcePreset) };
