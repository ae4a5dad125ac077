import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';

export interface DescribedTable {
  name: string;
  description: string;
  owner_column: string | null;
  columns: readonly DescribedColumn[];
}

export interface DescribedColumn {
  name: string;
  type: ColumnType;
  nullable: boolean;
  default: string | null;
  generated: boolean;
}

export function tableTypes(app: string, tables: readonly DescribedTable[]): string {
  const sorted = [...tables].sort((a, b) => (a.name < b.name ? -1 : 1));
  return `// The tables of ${app}, as \`svc tables types\` prints them.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

export type Database = {
${sorted.map(tableType).join('')}};
`;
}

function tableType(table: DescribedTable): string {
  const description = table.description.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ').trim();
  const comment = description === '' ? '' : `  /** ${description} */\n`;
  return `${comment}  ${table.name}: {
    Row: {
${table.columns.map((column) => field(column, 'required', describeColumnType(column.type).ts)).join('')}    };
    Insert: {
${table.columns.flatMap((column) => insertField(table, column)).join('')}    };
    Update: {
${table.columns.flatMap((column) => updateField(table, column)).join('')}    };
  };
`;
}

function insertField(table: DescribedTable, column: DescribedColumn): string[] {
  if (isServerColumn(column)) return [];
  const { generated, nullable } = column;
  const mayBeAbsent = generated || nullable || column.default !== null || column.name === table.owner_column;
  return [field(column, mayBeAbsent ? 'optional' : 'required', sentType(column))];
}

function updateField(table: DescribedTable, column: DescribedColumn): string[] {
  if (isServerColumn(column) || column.name === 'id' || column.name === table.owner_column) return [];
  return [field(column, 'optional', sentType(column))];
}

function isServerColumn({ name, generated }: DescribedColumn): boolean {
  return generated && name !== 'id';
}

function sentType({ type }: DescribedColumn): string {
  const { ts, tsInput = ts } = describeColumnType(type);
  return tsInput;
}

function field(column: DescribedColumn, presence: 'required' | 'optional', type: string): string {
  const orNull = column.nullable && column.type !== 'jsonb' ? ' | null' : '';
  return `      ${column.name}${presence === 'optional' ? '?' : ''}: ${type}${orNull};\n`;
}
