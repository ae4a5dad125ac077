import { brokenCheck } from '@svc/contract/column-checks.ts';
import { isFileType } from '@svc/contract/file-type.ts';
import { scanObject } from '@svc/contract/json.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { fail } from '../../core/problem.ts';
import { type CatalogueColumn, physicalSequenceName } from '../tables/catalogue.ts';
import { parseJson } from '../tables/values.ts';
import { type Access, isWritable } from './access.ts';
import { withFile } from './files.ts';
import { LayoutReader, type RowLayout, readByLayout } from './row-layout.ts';
import type { ColumnPosition, RowTable } from './row-table.ts';

export type RowInput = (string | null | undefined)[];

export type RowProblem = Pick<ProblemItem, 'column' | 'code' | 'detail'>;

/** Of the last row of each table. */
const layouts = new WeakMap<RowTable, RowLayout>();

export function parseRowObject(
  table: RowTable,
  text: string,
  start: number,
  end: number,
): RowInput | RowProblem[] {
  const layout = layouts.get(table);
  if (layout) {
    const input: RowInput = new Array(table.catalogue.columns.length);
    const read = (position: ColumnPosition, raw: string) => {
      const result = parseValue(table, position, raw);
      return 'code' in result ? undefined : result.value;
    };
    if (readByLayout(layout, text, [start, end], input, read)) return input;
  }
  return parseMembers(table, text, start, end);
}

function parseMembers(table: RowTable, text: string, start: number, end: number): RowInput | RowProblem[] {
  const input: RowInput = new Array(table.catalogue.columns.length);
  const layout = new LayoutReader(start);
  let errors: RowProblem[] | null = null;
  const malformed = scanObject(text, start, end, (key, rawStart, rawEnd) => {
    const position = table.positions.get(key);
    if (position === undefined) {
      errors ??= [];
      const detail = 'is not a column of this table';
      errors.push({ column: key.slice(0, 63), code: 'unknown_column', detail });
      return;
    }
    layout.add(text, position, rawStart, rawEnd);
    const result = parseValue(table, position, text.slice(rawStart, rawEnd));
    if ('code' in result) {
      errors ??= [];
      errors.push({ column: key, ...result });
    }
    // The last of duplicate keys wins.
    else input[position.at] = result.value;
  });
  if (malformed !== null) return [{ code: 'malformed_json', detail: malformed }];
  if (errors) return errors;
  const ended = layout.end(text, end);
  if (ended) layouts.set(table, ended);
  return input;
}

function parseValue(
  table: RowTable,
  position: ColumnPosition,
  raw: string,
): { value: string | null } | Omit<RowProblem, 'column'> {
  const { at, type, checks } = position;
  const parsed = parseJson(position, raw);
  const result = isFileType(type) ? withFile(table, at, parsed) : parsed;
  if (!result.ok) return { code: 'invalid_value', detail: result.detail };
  const broken = checks && result.value !== null ? brokenCheck(type, checks, result.value) : null;
  return broken ? { code: 'check_violation', detail: broken.detail } : result;
}

export interface FillOptions<N> {
  userId: string;
  rights: InsertRights;
  now: N;
  nextNumber: () => N;
}

/** What a caller may set in new rows: looked up once for all rows of a batch. */
export interface InsertRights {
  insertsOwn: boolean;
  readOnly: ReadonlySet<string>;
}

export function insertRights({ catalogue }: RowTable, access: Access): InsertRights {
  const names = catalogue.columns.map(({ name }) => name);
  return {
    insertsOwn: access.insertsOwn,
    readOnly: new Set(names.filter((name) => !isWritable(access, 'insert', name))),
  };
}

export function fillDefaults<N extends string | { sql: string }>(
  table: RowTable,
  input: RowInput,
  options: FillOptions<N>,
): (string | null | N)[] | RowProblem[] {
  const { columns } = table.catalogue;
  const filled: (string | null | N)[] = new Array(columns.length);
  let errors: RowProblem[] | null = null;
  const { readOnly } = options.rights;
  for (let at = 0; at < columns.length; at++) {
    const column = columns[at];
    if (!column) continue;
    const value = input[at];
    const problem =
      columnProblem(column, value, options) ??
      (value !== undefined && readOnly.has(column.name) ? columnProblems.notYours : null);
    if (problem) {
      if (!table.positions.has(column.name)) throw noValueError();
      errors ??= [];
      errors.push({ column: column.name, ...problem });
    } else filled[at] = value === undefined ? defaultValue(column, options) : value;
  }
  return errors ?? filled;
}

function columnProblem(
  column: CatalogueColumn,
  value: string | null | undefined,
  { userId, rights }: FillOptions<unknown>,
): Omit<RowProblem, 'column'> | null {
  if (value === undefined) return isOptional(column) ? null : columnProblems.required;
  if (!isInsertable(column)) return columnProblems.readOnly;
  if (column.role === 'created_at' || column.role === 'updated_at') return columnProblems.readOnly;
  if (column.role === 'owner' && rights.insertsOwn && value !== userId) return columnProblems.owner;
  if (value === null) return column.nullable ? null : columnProblems.notNull;
  // Not addressable: in a URL path these mean other resources.
  if (column.role === 'id' && value.length <= 2 && /^\.{0,2}$/.test(value)) return columnProblems.id;
  return null;
}

export const noValueError = () =>
  fail('forbidden', { detail: 'The row needs a value for a column that you cannot set.' });

export const columnProblems = {
  notYours: { code: 'read_only', detail: 'cannot be set by you' },
  required: { code: 'required', detail: 'is required' },
  readOnly: { code: 'read_only', detail: 'is set by the service' },
  owner: { code: 'read_only', detail: 'is set to the user who inserts the row' },
  notNull: { code: 'not_null', detail: 'must not be null' },
  id: { code: 'invalid_value', detail: 'must not be empty, a dot or two dots' },
} as const;

function isOptional(column: CatalogueColumn): boolean {
  const { role, default: rule, nullable } = column;
  if (role === 'created_at' || role === 'updated_at' || role === 'owner') return true;
  return rule !== null || nullable || !isInsertable(column);
}

/** Whether an insert names the column: PostgreSQL assigns the numbers of an autonumber. */
export const isInsertable = ({ type }: Pick<CatalogueColumn, 'type'>) => type !== 'autonumber';

function defaultValue<N extends string | { sql: string }>(
  { role, default: rule }: CatalogueColumn,
  options: FillOptions<N>,
): string | null | N {
  if (role === 'created_at' || role === 'updated_at') return options.now;
  if (role === 'owner') return options.userId;
  switch (rule?.kind) {
    case undefined:
      return null;
    case 'literal':
      return rule.text;
    case 'now':
      return options.now;
    case 'random_uuid':
      return crypto.randomUUID();
    case 'uuid_v7':
      return Bun.randomUUIDv7();
    case 'sequence':
      return options.nextNumber();
  }
}

export function isProblems(row: readonly unknown[]): row is RowProblem[] {
  const [first] = row;
  return typeof first === 'object' && first !== null && 'code' in first;
}

export function parseChanges(
  table: RowTable,
  access: Access,
  text: string,
): { column: CatalogueColumn; value: string | null }[] {
  const input = parseRowObject(table, text, 0, text.length);
  if (isProblems(input)) throw rowProblemsError(input);
  const errors: RowProblem[] = [];
  const changes: { column: CatalogueColumn; value: string | null }[] = [];
  for (const [at, column] of table.catalogue.columns.entries()) {
    const value = input[at];
    if (value === undefined) continue;
    if (column.role !== 'plain' || !isInsertable(column) || !isWritable(access, 'update', column.name)) {
      errors.push({ column: column.name, code: 'read_only', detail: 'cannot be changed' });
    } else if (value === null && !column.nullable) {
      errors.push({ column: column.name, code: 'not_null', detail: 'must not be null' });
    } else changes.push({ column, value });
  }
  if (errors.length > 0) throw rowProblemsError(errors);
  return changes;
}

export function rowProblemsError(errors: readonly (RowProblem & { line?: number })[]) {
  const [first] = errors;
  const code =
    first?.code === 'unknown_column' || first?.code === 'malformed_json' ? first.code : 'validation_failed';
  const line = first?.line === undefined ? '' : `line ${first.line}: `;
  const name = first?.column === undefined ? '' : `${first.column} `;
  return fail(code, { detail: `${line}${name}${first?.detail ?? ''}`, errors: [...errors] });
}

const sequenceName = ({ catalogue }: RowTable) =>
  `"${catalogue.schema}"."${physicalSequenceName(catalogue.id)}"`;

export const nextNumberSql = (table: RowTable) => `nextval('${sequenceName(table)}')`;

/** After explicit ids were inserted, the sequence continues beyond them. */
export const advanceSequenceSql = (table: RowTable) =>
  `select setval('${sequenceName(table)}', $1::int8)::text from ${sequenceName(table)} where last_value < $1::int8`;

export function highestNumber(table: RowTable, ids: readonly (string | null | undefined)[]): string | null {
  if (table.catalogue.idColumn.default?.kind !== 'sequence') return null;
  let highest = 0n;
  for (const id of ids) if (typeof id === 'string' && BigInt(id) > highest) highest = BigInt(id);
  return highest > 0n ? String(highest) : null;
}

let versionCounter = 0;

/** Unique, so that a new row under the id of a deleted one has another ETag. */
export function newVersion(): string {
  versionCounter = (versionCounter + 1) % 1000;
  return `${Date.now()}${String(versionCounter).padStart(3, '0')}`;
}
