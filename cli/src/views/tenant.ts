import type { View } from '../command.ts';

export const tenantView: View = { columns: ['id', 'slug', 'name', 'role', 'max_resource_tier'] };
