import type { View } from '../command.ts';

export const tableIndexView: View = { columns: ['id', 'name', 'columns', 'unique', 'created_at'] };
