import { type ColumnSpec, columnSpecText } from '@svc/contract/column-spec.ts';
import { type ColumnType, idTypes, isArrayType, ownerColumnTypes } from '@svc/contract/columns.ts';
import type { Index, Table } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import type { AppAccess } from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import type { ColumnRow, IndexRow, TableRow } from './store.ts';

export type TableRecord = z.output<typeof Table>;
export type IndexRecord = z.output<typeof Index>;
export type NewColumn = Omit<ColumnRow, 'number'>;

export function requireNotArchived(app: Pick<AppAccess, 'record'>): void {
  if (app.record === 'archived') throw fail('app_not_active');
}

export function withServiceColumns(declared: readonly NewColumn[]): NewColumn[] {
  const ifMissing = (name: 'id' | 'created_at' | 'updated_at', type: ColumnType): NewColumn[] =>
    declared.some((column) => column.name === name)
      ? []
      : [{ name, type, nullable: false, default_text: null, role: name }];
  return [
    ...ifMissing('id', 'uuid'),
    ...declared,
    ...ifMissing('created_at', 'timestamptz'),
    ...ifMissing('updated_at', 'timestamptz'),
  ];
}

export function duplicatePositions(names: readonly string[]): number[] {
  return names.flatMap((name, at) => (names.indexOf(name) < at ? [at] : []));
}

export function idColumnProblem(
  spec: ColumnSpec,
): { field: 'type' | 'nullable' | 'default'; detail: string } | null {
  if (!idTypes.some((type) => type === spec.type)) {
    return { field: 'type', detail: `of the id must be one of ${idTypes.join(', ')}` };
  }
  if (spec.nullable) return { field: 'nullable', detail: 'must be false for the id' };
  return isIdDefault(spec) ? null : { field: 'default', detail: 'of the id can only be gen_random_uuid()' };
}

export function isIdDefault({ type, default: text }: Pick<ColumnSpec, 'type' | 'default'>): boolean {
  return text === null || (type === 'uuid' && text === 'gen_random_uuid()');
}

export function ownerColumnProblem(column: Pick<NewColumn, 'type' | 'role'> | undefined): string | null {
  if (!column) return 'must be one of the columns';
  if (column.role === 'id') return 'must not be the id';
  if (ownerColumnTypes.some((type) => type === column.type)) return null;
  return `must be a column of type ${ownerColumnTypes.join(' or ')}`;
}

export function countDeclaredColumns(columns: readonly Pick<ColumnRow, 'role'>[]): number {
  return columns.filter((column) => column.role === 'plain').length;
}

/** PostgreSQL's limit of 1600 minus the version column, with a margin. */
export const attributesMax = 1590;

export function needsRebuild(attributesMade: number, adding: number): boolean {
  return attributesMade + adding > attributesMax;
}

export function defaultIndexName(
  columns: readonly string[],
  kind: 'unique' | 'plain',
  existing: readonly string[],
): string {
  const ending = kind === 'unique' ? '_key' : '_idx';
  for (let number = 1; ; number++) {
    const end = number === 1 ? ending : `${ending}${number}`;
    const name = `${columns.join('_').slice(0, 63 - end.length)}${end}`;
    if (!existing.includes(name)) return name;
  }
}

export interface IndexPlan {
  keys: readonly number[];
  method: 'btree' | 'gin' | 'gin_array';
  isUnique: boolean;
}

/** Appends the id as last key, so that sorted pages are read from the index. Returns a text if the index is invalid. */
export function planIndex(
  columns: readonly Pick<ColumnRow, 'number' | 'type'>[],
  kind: 'unique' | 'plain',
  id: Pick<ColumnRow, 'number'>,
): IndexPlan | string {
  const keys = columns.map((column) => column.number);
  if (columns.some((column) => isArrayType(column.type))) {
    if (kind === 'unique') return 'cannot be unique with a list column';
    return columns.length === 1
      ? { keys, method: 'gin_array', isUnique: false }
      : 'must be a single column if it is a list';
  }
  if (columns.some((column) => column.type === 'jsonb')) {
    if (kind === 'unique') return 'cannot be unique with a jsonb column';
    return columns.length === 1
      ? { keys, method: 'gin', isUnique: false }
      : 'must be a single column if it is jsonb';
  }
  if (kind === 'unique') return { keys, method: 'btree', isUnique: true };
  return { keys: keys.includes(id.number) ? keys : [...keys, id.number], method: 'btree', isUnique: false };
}

export function columnSpec({ name, type, nullable, default_text, checks }: NewColumn): ColumnSpec {
  return { name, type, nullable, default: default_text, ...(checks && { checks }) };
}

export function tableAudit(row: TableRow): Record<string, unknown> {
  const record = tableRecord(row);
  return {
    name: row.name,
    description: row.description,
    owner_column: record.owner_column,
    ...(row.changes && { changes: true }),
    ...(record.history && { history: record.history }),
    ...(record.soft_delete && { soft_delete: record.soft_delete }),
    columns: row.columns.map((column) => columnSpecText(columnSpec(column))),
    ...(row.indexes.length > 0 && { indexes: row.indexes.map((index) => formatIndex(row, index)) }),
  };
}

export function formatIndex(row: TableRow, index: IndexRow): string {
  const { name, columns, unique } = indexRecord(row, index);
  return `${name}: ${unique ? 'unique ' : ''}(${columns.join(', ')})`;
}

export function tableRecord(row: TableRow): TableRecord {
  return {
    id: row.id,
    app_id: row.app_id,
    name: row.name,
    description: row.description,
    owner_column: row.columns.find((column) => column.number === row.owner_column)?.name ?? null,
    changes: row.changes,
    history: daysText(row.history_days),
    soft_delete: daysText(row.soft_delete_days),
    columns: row.columns.map((column) => ({ ...columnSpec(column), generated: isGenerated(column) })),
    version: row.version,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

const daysText = (days: number | null) => (days === null ? null : `${days}d`);

/** `30d`. */
export const parseDays = (text: string | null) => (text === null ? null : Number.parseInt(text, 10));

export function indexRecord(row: Pick<TableRow, 'columns'>, index: IndexRow): IndexRecord {
  const columnName = (number: number) => row.columns.find((column) => column.number === number)?.name ?? '';
  return {
    id: index.id,
    name: index.name,
    columns: index.columns.map(columnName),
    unique: index.is_unique,
    created_at: new Date(index.created_at).toISOString(),
  };
}

function isGenerated({ role, type, default_text }: ColumnRow): boolean {
  if (role === 'id') return type !== 'text' && default_text === null;
  return role !== 'plain' || type === 'autonumber';
}
