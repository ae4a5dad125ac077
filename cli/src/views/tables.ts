import { type ColumnSpec, columnSpecText } from '@svc/contract/column-spec.ts';
import type { View } from '../command.ts';

const tableColumns = (table: Record<string, unknown>) => (table.columns ?? []) as ColumnSpec[];

export const tableView: View = {
  columns: [
    'id',
    'name',
    { title: 'columns', value: (table) => tableColumns(table).map(({ name }) => name) },
    'owner_column',
    'description',
  ],
  fields: [
    'id',
    'app_id',
    'name',
    'description',
    { title: 'columns', value: (table) => tableColumns(table).map(columnSpecText) },
    'owner_column',
    'version',
    'created_by',
    'created_at',
    'updated_at',
  ],
};

export const tableGrantView: View = {
  columns: ['id', 'principal_type', 'principal_name', 'principal_id', 'actions', 'created_at'],
};

export const tableIndexView: View = { columns: ['id', 'name', 'columns', 'unique', 'created_at'] };

interface Inspected {
  name: string;
  columns: ColumnSpec[];
  indexes: { name: string; columns: string[]; unique: boolean }[];
}

const entry = ['id', 'at', 'reader_email', 'what', 'reason', 'consent_id'] as const;

export const inspectionView: View = {
  columns: entry,
  fields: [
    ...entry,
    {
      title: 'tables',
      value: ({ tables }) => ((tables ?? []) as Inspected[]).map(tableText),
    },
  ],
};

function tableText({ name, columns, indexes }: Inspected): string {
  const parts = [
    columns.map(columnSpecText).join(', '),
    ...indexes.map((index) => `${index.unique ? 'unique ' : ''}${index.name} (${index.columns.join(', ')})`),
  ];
  return `${name} (${parts.join('; ')})`;
}
