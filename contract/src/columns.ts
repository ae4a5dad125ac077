/** Names, types and limits of dynamic tables, for every program that reads or writes one. */
export const columnTypes = [
  'text',
  'int',
  'bigint',
  'float',
  'bool',
  'timestamptz',
  'uuid',
  'jsonb',
] as const;
export type ColumnType = (typeof columnTypes)[number];

export const namePattern = /^[a-z][a-z0-9_]{0,62}$/;
/** Parameters of a row query: a column of the name could not be filtered by. */
export const reservedNames: readonly string[] = [
  ...['select', 'filter', 'sort', 'page', 'per_page', 'cursor', 'count', 'or', 'and', 'not'],
];
/** Also taken: they steer a write, and a column of the name would be mistaken for them. */
export const writeParameters: readonly string[] = ['dry_run', 'on_conflict'];

/** A declared `id` is one of these. */
export const idTypes = ['uuid', 'bigint', 'int', 'text'] as const satisfies readonly ColumnType[];
export const ownerColumnTypes = ['text', 'uuid'] as const satisfies readonly ColumnType[];

export const tableDescriptionBytesMax = 1000;
export const tablesPerAppMax = 200;
export const columnsPerTableMax = 1000;
export const indexesPerTableMax = 32;
export const columnsPerIndexMax = 8;
export const grantsPerTableMax = 200;
export const columnDefaultBytesMax = 8 * 1024;

export function isColumnName(name: string): boolean {
  return namePattern.test(name) && !reservedNames.includes(name) && !writeParameters.includes(name);
}
