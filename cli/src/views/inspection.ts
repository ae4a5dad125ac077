import { type ColumnSpec, columnSpecText } from '@svc/contract/column-spec.ts';
import type { View } from '../command.ts';

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

/** `pets (name:text, age:int:nullable; unique name_key (name))` */
function tableText({ name, columns, indexes }: Inspected): string {
  const parts = [
    columns.map(columnSpecText).join(', '),
    ...indexes.map((index) => `${index.unique ? 'unique ' : ''}${index.name} (${index.columns.join(', ')})`),
  ];
  return `${name} (${parts.join('; ')})`;
}
