import { parseColumnSpec } from '@svc/contract/column-spec.ts';
import { columnTypes, tableDescriptionBytesMax } from '@svc/contract/columns.ts';
import type { Flags, FlagValues } from '../command.ts';
import { usage } from '../errors.ts';

export const tablePositional = { name: 'table', summary: 'Table name or id' } as const;
/** Where the words speak of grants, the table is named by a flag. */
export const tableFlag = {
  table: { type: 'string', placeholder: 'table', required: true, summary: 'Table name or id' },
} as const satisfies Flags;
export const columnPositional = { name: 'column', summary: 'Column name' } as const;
export const columnPlaceholder = 'name:type[:nullable][:default]';
export const columnTypesNote = `Types: ${columnTypes.join(', ')}. Without nullable a column always has a value. A default is a literal, now() for timestamptz or gen_random_uuid() for uuid.`;

/** A table as flags; `--schema` gives it as a document, whose columns come before those of the flags. */
export const tableFlags = {
  column: {
    type: 'string',
    repeated: true,
    placeholder: columnPlaceholder,
    summary: 'A column; give one for each',
  },
  'owner-column': {
    type: 'string',
    placeholder: 'column',
    summary: "The column of type text or uuid that holds each row's owner",
  },
  description: { type: 'string', summary: `What it holds, at most ${tableDescriptionBytesMax} bytes` },
  schema: {
    type: 'string',
    placeholder: 'path',
    summary: 'YAML or JSON with columns, owner_column and description; - reads standard input',
  },
} as const satisfies Flags;

export interface TableBody {
  name: string;
  columns?: (string | ColumnObject)[];
  owner_column?: string | null;
  description?: string;
}

interface ColumnObject {
  name: string;
  type: (typeof columnTypes)[number];
  nullable?: boolean;
  default?: string | number | boolean | null;
}

const keptByServer = new Set(['id', 'app_id', 'version', 'created_by', 'created_at', 'updated_at']);

/** Refuses what can not be read, and a column that comes twice, before anything is sent. */
export function tableBody(
  table: string,
  flags: FlagValues<typeof tableFlags>,
  file: Record<string, unknown>,
): TableBody {
  // One that was printed, told by its id, may be copied under another name.
  if (file.name !== undefined && file.name !== table && file.id === undefined) {
    throw usage(
      `${flags.schema} is of table ${JSON.stringify(file.name)}, and the line says ${JSON.stringify(table)}.`,
      'Give the same name in both, or leave it out of the file.',
    );
  }
  const columns = [...columnsOf(flags.schema, file.columns), ...(flags.column ?? [])];
  refuseTwice(columns.map(columnName));
  // What else the file holds is checked by the server, which knows all the rules and names the field. A table as it
  // was printed is taken as well: what the server keeps about it is not for the file to say.
  const own = Object.entries(file).filter(([name]) => !keptByServer.has(name));
  return {
    ...Object.fromEntries(own),
    name: table,
    ...(columns.length > 0 && { columns: columns as TableBody['columns'] & object }),
    ...(flags['owner-column'] !== undefined && { owner_column: flags['owner-column'] }),
    ...(flags.description !== undefined && { description: flags.description }),
  };
}

export function checkColumns(specs: readonly string[] | undefined): undefined {
  for (const spec of specs ?? []) columnName(spec);
}

function columnsOf(path: string | undefined, columns: unknown): unknown[] {
  if (columns === undefined || columns === null) return [];
  if (!Array.isArray(columns)) throw usage(`${path}: columns is not a list.`);
  return columns.flatMap(withoutGenerated);
}

/** Of a table that was printed: columns that the server adds by itself are left to it. */
function withoutGenerated(column: unknown): unknown[] {
  if (typeof column !== 'object' || column === null || !('generated' in column)) return [column];
  const { generated, ...declared } = column as { generated: unknown; name?: unknown; type?: unknown };
  const isNumbered = declared.name === 'id' && declared.type !== 'uuid';
  return generated === true && !isNumbered ? [] : [declared];
}

function columnName(column: unknown): string {
  if (typeof column === 'string') {
    const parsed = parseColumnSpec(column);
    if (typeof parsed === 'string') throw usage(`A column can not be read: ${parsed}.`);
    return parsed.name;
  }
  const name = typeof column === 'object' && column !== null && 'name' in column ? column.name : undefined;
  if (typeof name === 'string') return name;
  throw usage(`A column is ${columnPlaceholder} or an object with a name, not ${JSON.stringify(column)}.`);
}

function refuseTwice(names: readonly string[]): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw usage(`Column ${JSON.stringify(twice)} is declared twice.`);
}
