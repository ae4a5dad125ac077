import { refTarget } from '@svc/contract/column-families.ts';
import { type ColumnType, describeColumnType, valueType } from '@svc/contract/columns.ts';

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
  value_type?: ColumnType | undefined;
}

export function tableTypes(app: string, tables: readonly DescribedTable[]): string {
  const sorted = [...tables].sort((a, b) => (a.name < b.name ? -1 : 1));
  return `// The tables of ${app}, as \`svc tables types\` prints them.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

export type Database = {
${sorted.map((table) => tableType(table, sorted)).join('')}};
`;
}

function tableType(table: DescribedTable, all: readonly DescribedTable[]): string {
  const description = table.description.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ').trim();
  const comment = description === '' ? '' : `  /** ${description} */\n`;
  return `${comment}  ${table.name}: {
    Row: {
${table.columns.map((column) => field(column, 'required', describeColumnType(valueType(column)).ts)).join('')}    };
    Insert: {
${table.columns.flatMap((column) => insertField(table, column)).join('')}    };
    Update: {
${table.columns.flatMap((column) => updateField(table, column)).join('')}    };
${relations(table, all)}  };
`;
}

/** The rows that columns refer to by the names of these, and the rows of tables that refer to this one by theirs. */
function relations(table: DescribedTable, all: readonly DescribedTable[]): string {
  const names = new Set(table.columns.map(({ name }) => name));
  const one = table.columns.flatMap(({ name, type }) => {
    const target = refTarget(type);
    if (target === null) return [];
    const short = name.endsWith('_id') ? name.slice(0, -3) : '';
    return [name, ...(short !== '' && !names.has(short) ? [short] : [])].map((key) => ({
      key,
      kind: 'one',
      to: target,
    }));
  });
  const many = all.flatMap((other) => {
    const columns = other.columns.filter(({ type }) => refTarget(type) === table.name);
    const hinted = columns.map(({ name }) => `${other.name}!${name}`);
    return [...(columns.length === 1 ? [other.name] : []), ...hinted].map((key) => ({
      key,
      kind: 'many',
      to: other.name,
    }));
  });
  const known = new Set<string>();
  const fields = [...one, ...many].flatMap(({ key, kind, to }) => {
    if (known.has(key) || all.every(({ name }) => name !== to)) return [];
    known.add(key);
    return [`      ${/!/.test(key) ? `'${key}'` : key}: { kind: '${kind}'; to: Database['${to}'] };\n`];
  });
  return `    Relations: ${fields.length === 0 ? 'Record<never, never>' : `{\n${fields.join('')}    }`};\n`;
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

function sentType(column: DescribedColumn): string {
  const { ts, tsInput = ts } = describeColumnType(valueType(column));
  return tsInput;
}

function field(column: DescribedColumn, presence: 'required' | 'optional', type: string): string {
  const orNull = column.nullable && column.type !== 'jsonb' ? ' | null' : '';
  return `      ${column.name}${presence === 'optional' ? '?' : ''}: ${type}${orNull};\n`;
}
