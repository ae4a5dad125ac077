import type { ColumnType } from '@svc/contract/columns.ts';

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

/** What is read; a whole number beyond what JSON can hold comes as text. */
const readTypes: Record<ColumnType, string> = {
  text: 'string',
  int: 'number',
  bigint: 'number | string',
  float: 'number',
  bool: 'boolean',
  timestamptz: 'string',
  uuid: 'string',
  jsonb: 'Json',
};
/** What may be sent is more: the SDK spells these. */
const sentTypes: Record<ColumnType, string> = {
  ...readTypes,
  bigint: 'number | string | bigint',
  timestamptz: 'string | Date',
};

/** The tables of an app as a TypeScript file. Names of tables and columns are such that they need no quotes. */
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
${table.columns.map((column) => field(column, 'required', readTypes)).join('')}    };
    Insert: {
${table.columns.flatMap((column) => insertField(table, column)).join('')}    };
    Update: {
${table.columns.flatMap((column) => updateField(table, column)).join('')}    };
  };
`;
}

/** The service keeps the times of a row; it fills in ids, owners and defaults where nothing is given. */
function insertField(table: DescribedTable, column: DescribedColumn): string[] {
  if (isKept(column)) return [];
  const { generated, nullable } = column;
  const mayBeAbsent = generated || nullable || column.default !== null || column.name === table.owner_column;
  return [field(column, mayBeAbsent ? 'optional' : 'required', sentTypes)];
}

/** Which row it is, and whose, stays as it is. */
function updateField(table: DescribedTable, column: DescribedColumn): string[] {
  if (isKept(column) || column.name === 'id' || column.name === table.owner_column) return [];
  return [field(column, 'optional', sentTypes)];
}

function isKept({ name, generated }: DescribedColumn): boolean {
  return generated && name !== 'id';
}

function field(
  column: DescribedColumn,
  presence: 'required' | 'optional',
  types: Record<ColumnType, string>,
): string {
  const type = types[column.type] + (column.nullable && column.type !== 'jsonb' ? ' | null' : '');
  return `      ${column.name}${presence === 'optional' ? '?' : ''}: ${type};\n`;
}
