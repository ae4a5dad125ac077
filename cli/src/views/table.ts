import { type ColumnSpec, columnSpecText } from '@svc/contract/column-spec.ts';
import type { View } from '../command.ts';

const columnsOf = (table: Record<string, unknown>) => (table.columns ?? []) as ColumnSpec[];

export const tableView: View = {
  columns: [
    'id',
    'name',
    { title: 'columns', value: (table) => columnsOf(table).map(({ name }) => name) },
    'owner_column',
    'description',
  ],
  fields: [
    'id',
    'app_id',
    'name',
    'description',
    { title: 'columns', value: (table) => columnsOf(table).map(columnSpecText) },
    'owner_column',
    'version',
    'created_by',
    'created_at',
    'updated_at',
  ],
};
