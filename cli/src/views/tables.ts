import { alternativeText } from '@svc/contract/access-matrix.ts';
import { type ColumnSpec, columnSpecText } from '@svc/contract/column-spec.ts';
import { type Alternative, openToChanges, ruleActions, type TableRules } from '@svc/contract/table-rules.ts';
import type { View } from '../command.ts';

const tableColumns = (table: Record<string, unknown>) => (table.columns ?? []) as ColumnSpec[];

export const tableView: View = {
  columns: [
    'id',
    'name',
    { title: 'columns', value: (table) => tableColumns(table).map(({ name }) => name) },
    'owner_column',
    { title: 'access', value: accessText },
    'description',
  ],
  fields: [
    'id',
    'app_id',
    'name',
    'description',
    { title: 'columns', value: (table) => tableColumns(table).map(columnSpecText) },
    'owner_column',
    'changes',
    'history',
    'soft_delete',
    'version',
    'created_by',
    'created_at',
    'updated_at',
  ],
};

function accessText({ access, open_to_changes: isOpen }: Record<string, unknown>): string {
  return isOpen === true ? `${access}: ${openToChanges}` : String(access ?? '');
}

const ruleField = (action: string) => ({
  title: action,
  value: (access: Record<string, unknown>) => ((access[action] ?? []) as Alternative[]).map(alternativeText),
});

export const tableAccessView: View = {
  columns: ['table', 'preset', ...ruleActions.map(ruleField)],
  fields: [
    'table',
    'preset',
    ...ruleActions.map(ruleField),
    {
      title: 'columns',
      value: ({ columns }) =>
        Object.entries((columns ?? {}) as TableRules['columns']).map(
          ([name, { read, write }]) =>
            `${name}:${read ? ` read ${read.map(alternativeText).join(', ')}` : ''}${write ? ` write ${write.map(alternativeText).join(', ')}` : ''}`,
        ),
    },
    { title: 'warning', value: ({ open_to_changes: isOpen }) => (isOpen === true ? openToChanges : '') },
  ],
};

const stepsField = (title: string) => ({
  title,
  value: (applied: Record<string, unknown>) =>
    ((applied[title] ?? []) as { text: string; access?: string | null }[]).map(({ text, access }) =>
      access ? `${text}, rules: ${access}` : text,
    ),
});
const appliedFields = ['changed', stepsField('steps'), stepsField('left')];

export const appliedTablesView: View = { columns: appliedFields, fields: appliedFields };

export const appRoleView: View = { columns: ['role', 'email', 'name', 'user_id', 'created_at'] };

export const tableGrantView: View = {
  columns: ['id', 'principal_type', 'principal_name', 'principal_id', 'actions', 'created_at'],
};

export const tableIndexView: View = {
  columns: [
    'id',
    'name',
    { title: 'columns', value: indexColumns },
    'unique',
    { title: 'search', value: ({ language }) => language },
    'created_at',
  ],
};

function indexColumns({ columns, search }: Record<string, unknown>): string[] {
  if (!search) return (columns ?? []) as string[];
  return Object.entries(search as Record<string, string>).map((entry) => entry.join(':'));
}

interface Inspected {
  name: string;
  columns: ColumnSpec[];
  indexes: { name: string; columns: string[]; unique: boolean; language?: string }[];
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

const indexKind = ({ unique, language }: Inspected['indexes'][number]) =>
  language ? `${language} search ` : unique ? 'unique ' : '';

function tableText({ name, columns, indexes }: Inspected): string {
  const parts = [
    columns.map(columnSpecText).join(', '),
    ...indexes.map((index) => `${indexKind(index)}${index.name} (${indexColumns(index).join(', ')})`),
  ];
  return `${name} (${parts.join('; ')})`;
}
