import type { View } from '../command.ts';

export const appView: View = { columns: ['id', 'slug', 'name', 'visibility', 'owner_id'] };
