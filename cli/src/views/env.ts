import type { View } from '../command.ts';

export const envView: View = { columns: ['name', 'given_by', 'updated_by', 'updated_at'] };
