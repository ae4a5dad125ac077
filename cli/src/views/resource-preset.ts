import type { View } from '../command.ts';

export const resourcePresetView: View = { columns: ['name', 'cpu', 'memory_mb', 'allowed', 'default'] };
