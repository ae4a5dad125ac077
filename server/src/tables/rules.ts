import { type ColumnSpec, columnSpecText } from '@svc/contract/column-spec.ts';
import { idTypes, ownerColumnTypes } from '@svc/contract/columns.ts';
import type { Index, Table } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import type { AppAccess } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import type { ColumnRow, IndexRow, TableRow } from './store.ts';

export type TableRecord = z.output<typeof Table>;
export type IndexRecord = z.output<typeof Index>;
export type NewColumn = Omit<ColumnRow, 'number'>;

/** The shape of an archived app's tables stays as it is, as their rows do. */
export function refuseArchived(app: Pick<AppAccess, 'record'>): void {
  if (app.record === 'archived') throw fail('app_not_active');
}

/** Those of `id`, `created_at` and `updated_at` that were not declared are added: the id first, the times last. */
export function withOwnColumns(declared: readonly NewColumn[]): NewColumn[] {
  const missing = (name: string) => !declared.some((column) => column.name === name);
  const time = (name: 'created_at' | 'updated_at'): NewColumn => ({
    name,
    type: 'timestamptz',
    nullable: false,
    default_text: null,
    role: name,
  });
  const id: NewColumn = { name: 'id', type: 'uuid', nullable: false, default_text: null, role: 'id' };
  return [
    ...(missing('id') ? [id] : []),
    ...declared,
    ...(missing('created_at') ? [time('created_at')] : []),
    ...(missing('updated_at') ? [time('updated_at')] : []),
  ];
}

export function namedTwice(names: readonly string[]): number[] {
  return names.flatMap((name, at) => (names.indexOf(name) < at ? [at] : []));
}

/** What keeps a declared `id` from being one. */
export function idRefusal(
  spec: ColumnSpec,
): { field: 'type' | 'nullable' | 'default'; detail: string } | null {
  if (!idTypes.some((type) => type === spec.type)) {
    return { field: 'type', detail: `of an id must be one of ${idTypes.join(', ')}` };
  }
  if (spec.nullable) return { field: 'nullable', detail: 'must be false: each row has an id' };
  return isIdDefault(spec) ? null : { field: 'default', detail: 'of an id can only be gen_random_uuid()' };
}

export function isIdDefault({ type, default: text }: Pick<ColumnSpec, 'type' | 'default'>): boolean {
  return text === null || (type === 'uuid' && text === 'gen_random_uuid()');
}

/** What keeps a column from holding the owners of rows. */
export function ownerRefusal(column: Pick<NewColumn, 'type' | 'role'> | undefined): string | null {
  if (!column) return 'must be one of the columns';
  if (column.role === 'id') return 'must be another column than the id';
  if (ownerColumnTypes.some((type) => type === column.type)) return null;
  return `must be a column of type ${ownerColumnTypes.join(' or ')}`;
}

/** Columns of the table's own makers count; those that the service adds do not. */
export function ownColumns(columns: readonly Pick<ColumnRow, 'role'>[]): number {
  return columns.filter((column) => column.role === 'plain').length;
}

/** PostgreSQL's 1600 less the row version, with room to spare. */
export const attributesMax = 1590;

export function needsRebuild(attributesMade: number, adding: number): boolean {
  return attributesMade + adding > attributesMax;
}

/** `email_key`, `last_name_first_name_idx`, and with a number behind where the name is taken. */
export function indexNameFor(
  columns: readonly string[],
  kind: 'unique' | 'plain',
  taken: readonly string[],
): string {
  const ending = kind === 'unique' ? '_key' : '_idx';
  for (let number = 1; ; number++) {
    const end = number === 1 ? ending : `${ending}${number}`;
    const name = `${columns.join('_').slice(0, 63 - end.length)}${end}`;
    if (!taken.includes(name)) return name;
  }
}

export interface IndexPlan {
  /** By number, as PostgreSQL gets them. */
  keys: readonly number[];
  method: 'btree' | 'gin';
  isUnique: boolean;
}

/** The id as the last key, so that a page sorted by the others is read off the index; or what is wrong, as text. */
export function planIndex(
  columns: readonly Pick<ColumnRow, 'number' | 'type'>[],
  kind: 'unique' | 'plain',
  id: Pick<ColumnRow, 'number'>,
): IndexPlan | string {
  const keys = columns.map((column) => column.number);
  if (columns.some((column) => column.type === 'jsonb')) {
    if (kind === 'unique') return 'can not be unique over a jsonb column';
    return columns.length === 1
      ? { keys, method: 'gin', isUnique: false }
      : 'a jsonb column stands in an index alone';
  }
  if (kind === 'unique') return { keys, method: 'btree', isUnique: true };
  return { keys: keys.includes(id.number) ? keys : [...keys, id.number], method: 'btree', isUnique: false };
}

export function specOf({ name, type, nullable, default_text }: NewColumn): ColumnSpec {
  return { name, type, nullable, default: default_text };
}

/** What a plan and the audit say of a table. */
export function auditedTable(row: TableRow): Record<string, unknown> {
  const record = tableRecord(row);
  return {
    name: row.name,
    description: row.description,
    owner_column: record.owner_column,
    columns: row.columns.map((column) => columnSpecText(specOf(column))),
    ...(row.indexes.length > 0 ? { indexes: row.indexes.map((index) => indexText(row, index)) } : {}),
  };
}

/** `email_key: unique (email)` */
export function indexText(row: TableRow, index: IndexRow): string {
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
    columns: row.columns.map((column) => ({ ...specOf(column), generated: isGenerated(column) })),
    version: row.version,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function indexRecord(row: Pick<TableRow, 'columns'>, index: IndexRow): IndexRecord {
  const nameOf = (number: number) => row.columns.find((column) => column.number === number)?.name ?? '';
  return {
    id: index.id,
    name: index.name,
    columns: index.columns.map(nameOf),
    unique: index.is_unique,
    created_at: new Date(index.created_at).toISOString(),
  };
}

/** An id of text, or one with a default of its own, is not the service's to make. */
function isGenerated({ role, type, default_text }: ColumnRow): boolean {
  if (role === 'id') return type !== 'text' && default_text === null;
  return role !== 'plain';
}
