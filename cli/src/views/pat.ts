import type { View } from '../command.ts';

export const patView: View = {
  columns: ['id', 'name', 'hint', 'actions', 'apps', 'status', 'expires_at', 'last_used_at'],
};
