import type { View } from '../command.ts';

export const policyView: View = {
  columns: [
    'id',
    'name',
    'connector_id',
    'resource_path',
    'actions',
    'row_filter',
    'columns.mode',
    'enabled',
  ],
};
