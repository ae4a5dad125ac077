import type { View } from '../command.ts';

export const tableGrantView: View = {
  columns: ['id', 'principal_type', 'principal_name', 'principal_id', 'actions', 'created_at'],
};
