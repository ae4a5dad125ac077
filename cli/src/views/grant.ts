import type { View } from '../command.ts';

export const grantView: View = {
  columns: ['id', 'subject_id', 'connector_id', 'preset_id', 'scope_resource_paths', 'status', 'expires_at'],
};
