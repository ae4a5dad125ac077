import type { ColumnChecks } from '@svc/contract/column-checks.ts';
import type { DeleteAction } from '@svc/contract/column-families.ts';
import { parseColumnSpec } from '@svc/contract/column-spec.ts';
import { type ColumnType, columnTypeForms, tableDescriptionBytesMax } from '@svc/contract/columns.ts';
import { type AccessPreset, accessPresets } from '@svc/contract/table-rules.ts';
import type { Flags, FlagValues } from '../framework/declaration.ts';
import { usageError } from '../framework/errors.ts';

export const tablePositional = { name: 'table', summary: 'Table name or id' } as const;
export const tableFlag = {
  table: { type: 'string', placeholder: 'table', required: true, summary: 'Table name or id' },
} as const satisfies Flags;
export const columnPositional = { name: 'column', summary: 'Column name' } as const;
export const columnPlaceholder = 'name:type[:nullable][:default]';
export const columnTypesNote = `Types: ${columnTypeForms.join(', ')}; checks follow in brackets, as in int(min=0,max=9) and text(max_length=80,pattern="^[a-z]+$"). Columns without nullable require a value. A default is a literal, now() for timestamptz or gen_random_uuid() for uuid. A reference to rows of another table is author:ref:authors or author:ref:authors:nullable(on_delete=set_null); on_delete is restrict, cascade or set_null.`;

export const tableFlags = {
  column: {
    type: 'string',
    repeated: true,
    placeholder: columnPlaceholder,
    summary: 'Column',
  },
  'owner-column': {
    type: 'string',
    placeholder: 'column',
    summary: "Column of type text or uuid with each row's owner",
  },
  description: { type: 'string', summary: `Description, at most ${tableDescriptionBytesMax} bytes` },
  access: { type: 'enum', values: accessPresets, summary: 'Who may do what with its rows' },
  schema: {
    type: 'string',
    placeholder: 'path',
    summary: 'YAML or JSON with columns, owner_column, description and access; - reads standard input',
  },
} as const satisfies Flags;

export interface TableBody {
  name: string;
  columns?: (string | ColumnObject)[];
  owner_column?: string | null;
  description?: string;
  access?: AccessPreset;
}

interface ColumnObject {
  name: string;
  type: ColumnType;
  nullable?: boolean;
  default?: string | number | boolean | null;
  checks?: ColumnChecks;
  on_delete?: DeleteAction;
}

const serverFields = new Set(['id', 'app_id', 'version', 'created_by', 'created_at', 'updated_at']);

export function tableBody(
  table: string,
  flags: FlagValues<typeof tableFlags>,
  file: Record<string, unknown>,
): TableBody {
  // The output of `tables get`, which has an id, may be used for a table of another name.
  if (file.name !== undefined && file.name !== table && file.id === undefined) {
    throw usageError(
      `${flags.schema} describes table ${JSON.stringify(file.name)}, but the command names ${JSON.stringify(table)}.`,
      'Use the same name in both, or remove it from the file.',
    );
  }
  const columns = [...fileColumns(flags.schema, file.columns), ...(flags.column ?? [])];
  rejectDuplicates(columns.map(columnName));
  const own = Object.entries(file).filter(([name]) => !serverFields.has(name));
  return {
    ...Object.fromEntries(own),
    name: table,
    ...(columns.length > 0 && { columns: columns as TableBody['columns'] & object }),
    ...(flags['owner-column'] !== undefined && { owner_column: flags['owner-column'] }),
    ...(flags.description !== undefined && { description: flags.description }),
    ...(flags.access !== undefined && { access: flags.access }),
  };
}

export function checkColumns(specs: readonly string[] | undefined): undefined {
  for (const spec of specs ?? []) columnName(spec);
}

function fileColumns(path: string | undefined, columns: unknown): unknown[] {
  if (columns === undefined || columns === null) return [];
  if (!Array.isArray(columns)) throw usageError(`${path}: columns is not a list.`);
  return columns.flatMap(withoutGenerated);
}

function withoutGenerated(column: unknown): unknown[] {
  if (typeof column !== 'object' || column === null || !('generated' in column)) return [column];
  const { generated, value_type, ...declared } = column as Record<string, unknown>;
  const isNumbered = (declared.name === 'id' && declared.type !== 'uuid') || declared.type === 'autonumber';
  return generated === true && !isNumbered ? [] : [declared];
}

function columnName(column: unknown): string {
  if (typeof column === 'string') {
    const parsed = parseColumnSpec(column);
    if (typeof parsed === 'string') throw usageError(`Invalid column: ${parsed}.`);
    return parsed.name;
  }
  const name = typeof column === 'object' && column !== null && 'name' in column ? column.name : undefined;
  if (typeof name === 'string') return name;
  throw usageError(
    `A column must be ${columnPlaceholder} or an object with a name, not ${JSON.stringify(column)}.`,
  );
}

function rejectDuplicates(names: readonly string[]): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw usageError(`Column ${JSON.stringify(twice)} is declared twice.`);
}
