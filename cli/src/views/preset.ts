import type { View } from '../command.ts';

export const presetView: View = { columns: ['id', 'name', 'actions', 'built_in', 'description'] };
