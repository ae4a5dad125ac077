import type { ProblemItem } from '@svc/contract/problem.ts';
import { fail } from '../plumbing/problem.ts';
import type { CatalogueColumn, ColumnDefault } from '../tables/catalogue.ts';
import { sequenceOf } from '../tables/catalogue.ts';
import { fromJson } from '../tables/values.ts';
import type { RowAccess } from './access-rules.ts';
import { scanObject } from './json-object.ts';
import type { RowTable } from './row-table.ts';

/** One row as it was sent, by the column's place in the table; undefined where its key was absent. */
export type SentRow = (string | null | undefined)[];

export type ItemError = Pick<ProblemItem, 'column' | 'code' | 'detail'>;

/** Checks one JSON object against the table. What is wrong with it is returned, all of it, never a value of it. */
export function readObject(table: RowTable, text: string, start: number, end: number): SentRow | ItemError[] {
  const sent: SentRow = new Array(table.catalogue.columns.length);
  let errors: ItemError[] | null = null;
  const places = placesOf(table);
  const malformed = scanObject(text, start, end, (key, rawStart, rawEnd) => {
    const place = places.get(key);
    if (place === undefined) {
      errors ??= [];
      errors.push({
        column: key.slice(0, 63),
        code: 'unknown_column',
        detail: 'is not a column of this table',
      });
      return;
    }
    const column = table.catalogue.columns[place.at];
    const result = fromJson(place.type, text.slice(rawStart, rawEnd));
    if (result.ok) {
      // Of a key that is there twice, the last one counts.
      sent[place.at] = result.value;
      return;
    }
    errors ??= [];
    errors.push({ column: column?.name ?? key, code: 'invalid_value', detail: result.detail });
  });
  if (malformed !== null) return [{ code: 'malformed_json', detail: malformed }];
  return errors ?? sent;
}

const places = new WeakMap<RowTable, ReadonlyMap<string, { at: number; type: CatalogueColumn['type'] }>>();

function placesOf(table: RowTable) {
  let known = places.get(table);
  if (!known) {
    known = new Map(table.catalogue.columns.map((column, at) => [column.name, { at, type: column.type }]));
    places.set(table, known);
  }
  return known;
}

/** `N`: how what the database fills in is written, as SQL in a statement or as a value in a batch. */
export interface Filling<N> {
  userId: string;
  access: RowAccess;
  now: N;
  /** The next number of the id. */
  nextNumber: () => N;
}

/** Fills in what the row leaves out: defaults, the owner, what the service keeps itself. */
export function fillIn<N extends string | { sql: string }>(
  table: RowTable,
  sent: SentRow,
  filling: Filling<N>,
): (string | null | N)[] | ItemError[] {
  const { columns } = table.catalogue;
  const filled: (string | null | N)[] = new Array(columns.length);
  let errors: ItemError[] | null = null;
  for (let at = 0; at < columns.length; at++) {
    const column = columns[at];
    if (!column) continue;
    const value = sent[at];
    const wrong = refusalOf(column, value, filling);
    if (wrong) {
      errors ??= [];
      errors.push({ column: column.name, ...wrong });
    } else filled[at] = value === undefined ? leftOut(column, filling) : value;
  }
  return errors ?? filled;
}

function refusalOf(
  column: CatalogueColumn,
  value: string | null | undefined,
  { userId, access }: Filling<unknown>,
): Omit<ItemError, 'column'> | null {
  if (value === undefined) return isFilled(column) ? null : refusals.required;
  if (column.role === 'created_at' || column.role === 'updated_at') return refusals.kept;
  if (column.role === 'owner' && access.ownRowsOf !== null && value !== userId) return refusals.owner;
  if (value === null) return column.nullable ? null : refusals.notNull;
  // No address could name the row: in a path these are other places.
  if (column.role === 'id' && value.length <= 2 && /^\.{0,2}$/.test(value)) return refusals.id;
  return null;
}

const refusals = {
  required: { code: 'required', detail: 'has no default and must be given' },
  kept: { code: 'read_only', detail: 'is kept by the service' },
  owner: { code: 'read_only', detail: 'is filled in with who inserts the row' },
  notNull: { code: 'not_null', detail: 'must not be null' },
  id: { code: 'invalid_value', detail: 'must not be empty, a dot or two dots' },
} as const;

function isFilled({ role, default: rule, nullable }: CatalogueColumn): boolean {
  return role === 'created_at' || role === 'updated_at' || role === 'owner' || rule !== null || nullable;
}

function leftOut<N extends string | { sql: string }>(
  column: CatalogueColumn,
  filling: Filling<N>,
): string | null | N {
  if (column.role === 'created_at' || column.role === 'updated_at') return filling.now;
  if (column.role === 'owner') return filling.userId;
  return column.default ? evaluated(column.default, filling) : null;
}

function evaluated<N extends string | { sql: string }>(rule: ColumnDefault, filling: Filling<N>): string | N {
  switch (rule.kind) {
    case 'literal':
      return rule.text;
    case 'now':
      return filling.now;
    case 'random_uuid':
      return crypto.randomUUID();
    case 'uuid_v7':
      return Bun.randomUUIDv7();
    case 'sequence':
      return filling.nextNumber();
  }
}

export function isErrors(row: readonly unknown[]): row is ItemError[] {
  const [first] = row;
  return typeof first === 'object' && first !== null && 'code' in first;
}

/** The columns that a change sets; what the service keeps itself, the id and the owner are not to be changed. */
export function readChanges(
  table: RowTable,
  text: string,
): { column: CatalogueColumn; value: string | null }[] {
  const sent = readObject(table, text, 0, text.length);
  if (isErrors(sent)) throw refused(sent);
  const errors: ItemError[] = [];
  const changes: { column: CatalogueColumn; value: string | null }[] = [];
  for (const [at, column] of table.catalogue.columns.entries()) {
    const value = sent[at];
    if (value === undefined) continue;
    if (column.role !== 'plain') {
      errors.push({ column: column.name, code: 'read_only', detail: 'can not be changed' });
    } else if (value === null && !column.nullable) {
      errors.push({ column: column.name, code: 'not_null', detail: 'must not be null' });
    } else changes.push({ column, value });
  }
  if (errors.length > 0) throw refused(errors);
  return changes;
}

export function refused(errors: readonly (ItemError & { line?: number })[]) {
  const [first] = errors;
  const code =
    first?.code === 'unknown_column' || first?.code === 'malformed_json' ? first.code : 'validation_failed';
  const place = first?.line === undefined ? '' : `line ${first.line}: `;
  const name = first?.column === undefined ? '' : `${first.column} `;
  return fail(code, { detail: `${place}${name}${first?.detail ?? ''}`, errors: [...errors] });
}

const sequenceName = ({ catalogue }: RowTable) => `"${catalogue.schema}"."${sequenceOf(catalogue.id)}"`;

export const nextNumberSql = (table: RowTable) => `nextval('${sequenceName(table)}')`;

/** After numbers were given by hand: the next one is beyond them, or it would meet them one by one. */
export const passNumberSql = (table: RowTable) =>
  `select setval('${sequenceName(table)}', $1::int8)::text from ${sequenceName(table)} where last_value < $1::int8`;

/** The highest number that is given where they are numbered otherwise; null for none. */
export function numberToPass(table: RowTable, ids: readonly (string | null | undefined)[]): string | null {
  if (table.catalogue.idColumn.default?.kind !== 'sequence') return null;
  let highest = 0n;
  for (const id of ids) if (typeof id === 'string' && BigInt(id) > highest) highest = BigInt(id);
  return highest > 0n ? String(highest) : null;
}

let versions = 0;

/** Of a new row: no two are alike, so that a row made anew under an old id does not look like the old one. */
export function newVersion(): string {
  versions = (versions + 1) % 1000;
  return `${Date.now()}${String(versions).padStart(3, '0')}`;
}
