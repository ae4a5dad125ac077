import { type ColumnSpec, columnSpecText } from '@svc/contract/column-spec.ts';
import {
  type ColumnType,
  describeColumnType,
  idTypes,
  isArrayType,
  ownerColumnTypes,
} from '@svc/contract/columns.ts';
import { isFileType } from '@svc/contract/file-type.ts';
import type { Index, Table } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import type { AppAccess } from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import type { ColumnRow, IndexRow, TableRow } from './store.ts';

export type TableRecord = z.output<typeof Table>;
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

export function ownerColumnProblem(column: Pick<NewColumn, 'type' | 'role' | 'ref_table'> | undefined) {
  if (!column) return 'must be one of the columns';
  if (column.ref_table) return 'must not be a reference';
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

type IndexKind = 'unique' | 'plain' | 'search';

export const indexKind = (index: Pick<IndexRow, 'is_unique' | 'search'>): IndexKind =>
  index.search ? 'search' : index.is_unique ? 'unique' : 'plain';

export function countAttributes({ columns, indexes }: Pick<TableRow, 'columns' | 'indexes'>): number {
  const vectors = indexes.find((index) => index.search)?.columns.length ?? 0;
  return columns.length + vectors;
}

export function defaultIndexName(columns: readonly string[], kind: IndexKind, existing: readonly string[]) {
  const ending = { unique: '_key', plain: '_idx', search: '_search' }[kind];
  for (let number = 1; ; number++) {
    const end = number === 1 ? ending : `${ending}${number}`;
    const name = `${columns.join('_').slice(0, 63 - end.length)}${end}`;
    if (!existing.includes(name)) return name;
  }
}

export interface IndexPlan {
  keys: readonly number[];
  method: 'btree' | 'gin' | 'gin_array' | 'search';
  isUnique: boolean;
}

/** Appends the id as last key, so that sorted pages are read from the index. Returns a text if the index is invalid. */
export function planIndex(
  columns: readonly Pick<ColumnRow, 'number' | 'type'>[],
  kind: IndexKind,
  id: Pick<ColumnRow, 'number'>,
): IndexPlan | string {
  const keys = columns.map((column) => column.number);
  if (kind === 'search') {
    if (!columns.every(({ type }) => isSearchable(type))) return 'must be of type text';
    return { keys, method: 'search', isUnique: false };
  }
  if (columns.some((column) => isFileType(column.type))) return 'cannot be a column of files';
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

export const isSearchable = (type: ColumnType) => describeColumnType(type).sql === 'text';

export function columnSpec(column: NewColumn): ColumnSpec {
  const { name, type, nullable, default_text, checks, target, on_delete } = column;
  return {
    name,
    type: target ? `ref:${target.name}` : type,
    nullable,
    default: default_text,
    ...(checks && { checks }),
    ...(on_delete && { on_delete }),
  };
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
  const { name, columns, unique, search, language } = indexRecord(row, index);
  if (search) {
    const weighted = Object.entries(search).map((entry) => entry.join(':'));
    return `${name}: search (${weighted.join(', ')}) in ${language}`;
  }
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
    columns: row.columns.map((column) => ({
      ...columnSpec(column),
      ...(column.target && { value_type: column.type }),
      generated: isGenerated(column),
    })),
    version: row.version,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

const daysText = (days: number | null) => (days === null ? null : `${days}d`);

export const parseDays = (text: string | null) => (text === null ? null : Number.parseInt(text, 10));

type Retention = Pick<TableRow, 'history_days' | 'soft_delete_days'>;

/** What shorter times delete, now or within the hour. */
export function describeLostLog(before: Retention & { name: string }, after: Retention): string[] {
  const lost = (days: keyof Retention, what: string) => {
    const rest = after[days];
    if ((rest ?? 0) >= (before[days] ?? 0)) return [];
    const kept = rest === null ? '' : `, except that of the last ${dayCount(rest)}`;
    return [`The ${what} of ${before.name} is lost${kept}.`];
  };
  return [...lost('history_days', 'history'), ...lost('soft_delete_days', 'trash')];
}

const dayCount = (days: number) => (days === 1 ? 'day' : `${days} days`);

export function indexRecord(row: Pick<TableRow, 'columns'>, index: IndexRow): z.output<typeof Index> {
  const columnName = (number: number) => row.columns.find((column) => column.number === number)?.name ?? '';
  const { search } = index;
  return {
    id: index.id,
    name: index.name,
    columns: index.columns.map(columnName),
    unique: index.is_unique,
    ...(search && {
      search: Object.fromEntries(
        index.columns.map((number, at) => [columnName(number), search.weights[at] ?? 'D']),
      ),
      language: search.language,
    }),
    created_at: new Date(index.created_at).toISOString(),
  };
}

function isGenerated({ role, type, default_text }: ColumnRow): boolean {
  if (role === 'id') return type !== 'text' && default_text === null;
  return role !== 'plain' || type === 'autonumber';
}
