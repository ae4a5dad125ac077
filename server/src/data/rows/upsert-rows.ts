import { arrayText } from '@svc/contract/column-values.ts';
import { type ColumnType, describeColumnType, isArrayType } from '@svc/contract/columns.ts';
import { escapeIdentifier as ident } from 'pg';
import { Failure, fail } from '../../core/problem.ts';
import type { Transaction } from '../../drivers/row-database/row-pool.ts';
import { type CatalogueColumn, versionColumn } from '../tables/catalogue.ts';
import { isAlways } from '../tables/conditions.ts';
import { changeable } from './access.ts';
import { conditionSql, constantValues, newRow } from './condition-sql.ts';
import type { RowsCtx } from './context.ts';
import { isInsertable, newVersion, type RowInput } from './parse-row.ts';
import { LineReader, linesError } from './request-body.ts';
import { rowError } from './row-errors.ts';
import { columnRef, type RowTable, requireNamedColumn } from './row-table.ts';
import { insertCheck, refusedRowError } from './write-transaction.ts';

export interface Upsert {
  on: readonly CatalogueColumn[];
  resolution: 'merge' | 'ignore';
}

export function planUpsert(
  table: RowTable,
  onConflict: string | null,
  resolution: 'merge' | 'ignore' | null,
): Upsert | null {
  if (onConflict === null) {
    if (resolution === null) return null;
    return { on: [table.catalogue.idColumn], resolution };
  }
  const on = onConflict.split(',').map((name) => requireNamedColumn(table, name));
  const unique = [[table.catalogue.idColumn], ...table.catalogue.unique.map(({ columns }) => columns)];
  const isUnique = unique.some(
    (columns) => columns.length === on.length && columns.every((column) => on.includes(column)),
  );
  if (!isUnique) {
    const detail = 'does not name the columns of a unique constraint';
    throw fail('validation_failed', {
      detail: `on_conflict ${detail}.`,
      errors: [{ field: 'on_conflict', code: 'invalid', detail }],
    });
  }
  if (resolution === null) {
    throw fail('validation_failed', {
      detail: 'on_conflict needs Prefer: resolution=merge-duplicates or resolution=ignore-duplicates.',
      errors: [{ field: 'Prefer', code: 'required', detail: 'resolution is missing' }],
    });
  }
  return { on, resolution };
}

export interface UpsertResult {
  inserted: number;
  updated: number;
  ids: (string | number | null)[];
}

/** Existing rows change only in the columns present in the line. Lines with the same columns share a statement. */
export class UpsertRows {
  readonly #ctx: RowsCtx;
  readonly #upsert: Upsert;
  readonly #lines: (number | undefined)[] = [];
  readonly #rows: (readonly (string | null)[])[] = [];
  readonly #groups = new Map<string, number[]>();

  constructor(ctx: RowsCtx, upsert: Upsert) {
    this.#ctx = ctx;
    this.#upsert = upsert;
  }

  add(line: number | undefined, values: readonly (string | null)[], input: RowInput): void {
    // `Array.from`, because `map` skips the holes of absent columns.
    const present = Array.from(input, (value) => (value === undefined ? '0' : '1')).join('');
    const group = this.#groups.get(present);
    if (group) group.push(this.#rows.length);
    else this.#groups.set(present, [this.#rows.length]);
    this.#lines.push(line);
    this.#rows.push(values);
  }

  get size(): number {
    return this.#rows.length;
  }

  async store(tx: Transaction): Promise<UpsertResult> {
    this.#requireDistinctRows();
    const total: UpsertResult = { inserted: 0, updated: 0, ids: [] };
    for (const [present, members] of this.#groups) {
      for (const slice of this.#slices(members)) await this.#storeSlice(tx, present, slice, total);
    }
    return total;
  }

  /** Limits memory: a statement is copied several times on its way to PostgreSQL. */
  *#slices(members: readonly number[]): Generator<number[]> {
    let slice: number[] = [];
    let chars = 0;
    for (const member of members) {
      slice.push(member);
      for (const value of this.#rows[member] ?? []) chars += value?.length ?? 0;
      if (chars < sliceChars) continue;
      yield slice;
      slice = [];
      chars = 0;
    }
    if (slice.length > 0) yield slice;
  }

  async #storeSlice(
    tx: Transaction,
    present: string,
    members: readonly number[],
    total: UpsertResult,
  ): Promise<void> {
    const { table } = this.#ctx;
    const isMerge = this.#upsert.resolution === 'merge';
    const rows = members.map((member) => this.#rows[member] ?? []);
    const check = checkSql(this.#ctx, present, rows);
    if (check && (await tx.query(check.text, check.values)).rows.length > 0) throw refusedRowError();
    const { text, values } = upsertSql(this.#ctx, this.#upsert, present, rows);
    await tx.query('savepoint slice', []);
    const result = await tx.query(text, values).catch((error: unknown) => {
      const failure = rowError(error, table, this.#lines[members[0] ?? 0]);
      if (!failure) throw error;
      return failure;
    });
    // Fewer rows than lines: a conflicting row belongs to another user, so the caller can neither see nor change it.
    const isBlocked = !(result instanceof Failure) && isMerge && result.rows.length < members.length;
    if (result instanceof Failure || isBlocked) {
      const failure = result instanceof Failure ? result : this.#conflictError(this.#lines[members[0] ?? 0]);
      if (members.length === 1) throw failure;
      await tx.query('rollback to savepoint slice', []);
      const middle = members.length >> 1;
      await this.#storeSlice(tx, present, members.slice(0, middle), total);
      await this.#storeSlice(tx, present, members.slice(middle), total);
      // Both halves succeed alone: two lines of the batch conflict with each other.
      throw failure;
    }
    for (const [at, [id, isNew]] of result.rows.entries()) {
      const json = idJson(table.catalogue.idColumn.type, id ?? null);
      if (isMerge) total.ids[members[at] ?? 0] = json;
      else total.ids.push(json);
      if (isNew === 'true') total.inserted++;
      else total.updated++;
    }
  }

  #conflictError(line: number | undefined): Failure {
    const where = line === undefined ? { column: this.#upsert.on[0]?.name ?? '' } : { line };
    const detail = 'conflicts with a row of another user';
    return fail('unique_violation', { errors: [{ ...where, code: 'unique_violation', detail }] });
  }

  /** PostgreSQL rejects changing a row twice in one statement, without naming it. */
  #requireDistinctRows(): void {
    const { on } = this.#upsert;
    const positions = on.map((column) => this.#ctx.table.catalogue.columns.indexOf(column));
    const seen = new Set<string>();
    const reader = new LineReader();
    for (const [at, row] of this.#rows.entries()) {
      const key = positions.map((position) => row[position] ?? null);
      if (key.includes(null)) continue;
      const text = JSON.stringify(key);
      if (seen.has(text)) {
        const detail = 'has the same value as an earlier line';
        const column = on[0]?.name ?? '';
        reader.addProblems(this.#lines[at] ?? 0, [{ column, code: 'duplicate_in_batch', detail }]);
      }
      seen.add(text);
    }
    if (reader.errors.length > 0) throw linesError(reader.errors);
  }
}

const sliceChars = 1024 * 1024;

type SliceRows = readonly (readonly (string | null)[])[];

function sliceFrom({ table }: RowsCtx, rows: SliceRows) {
  const { columns } = table.catalogue;
  const values: (string | null)[] = columns.map((_, at) => arrayText(rows.map((row) => row[at] ?? null)));
  // jsonb travels as text[]: in a jsonb[] literal it would need another level of escaping. Lists of lists are not unnested.
  const isNested = (type: ColumnType) => describeColumnType(type).sql === 'jsonb' || isArrayType(type);
  const arrays = columns.map(
    ({ type }, at) => `$${at + 1}::${isNested(type) ? 'text' : describeColumnType(type).sql}[]`,
  );
  const items = columns.map(({ type }, at) =>
    isNested(type) ? `u.x${at}::${describeColumnType(type).sql}` : `u.x${at}`,
  );
  const from = `unnest(${arrays.join(', ')}) as u (${columns.map((_, at) => `x${at}`).join(', ')})`;
  return { values, items, from };
}

function checkSql(ctx: RowsCtx, present: string, rows: SliceRows) {
  const { columns } = ctx.table.catalogue;
  const names = columns.filter((_, at) => present[at] === '1').map(({ name }) => name);
  const check = insertCheck(ctx, names);
  if (isAlways(check)) return null;
  const { values, items, from } = sliceFrom(ctx, rows);
  const refs = newRow((column) => items[columns.indexOf(column)] ?? 'null');
  return {
    text: `select '1' from ${from} where (${conditionSql(check, values, refs)}) is not true limit 1`,
    values,
  };
}

function upsertSql(ctx: RowsCtx, upsert: Upsert, present: string, rows: SliceRows) {
  const { columns, idColumn, owner } = ctx.table.catalogue;
  const { values, items, from } = sliceFrom(ctx, rows);
  values.push(newVersion());
  const assigned = columns
    .map((column, at) => ({ column, item: items[at] }))
    .filter(({ column }) => isInsertable(column));
  const names = assigned.map(({ column }) => ident(column.physical));
  const target = upsert.on.map(({ physical }) => ident(physical)).join(', ');
  const fixed = [idColumn, owner, ...upsert.on];
  const changed = columns.filter((column, at) => present[at] === '1' && !fixed.includes(column));
  const sets = changed.map(({ physical }) => `${ident(physical)} = excluded.${ident(physical)}`);
  const updatedAt = columns.find(({ role }) => role === 'updated_at');
  // The time of the transaction, as the new row has it: Citus refuses functions here that are not immutable.
  if (updatedAt) sets.push(`${ident(updatedAt.physical)} = excluded.${ident(updatedAt.physical)}`);
  sets.push(`${versionColumn} = t.${versionColumn} + 1`);
  let action = 'do nothing';
  if (upsert.resolution === 'merge') {
    action = `do update set ${sets.join(', ')}`;
    const allowed = changeable(
      ctx.access,
      'update',
      changed.map(({ name }) => name),
    );
    if (!isAlways(allowed)) {
      const next = (column: CatalogueColumn) =>
        changed.includes(column) ? `excluded.${ident(column.physical)}` : columnRef(column);
      const constants = constantValues();
      const before = conditionSql(allowed, constants, { column: columnRef, old: columnRef, new: next });
      const after = conditionSql(allowed, constants, { column: next, old: columnRef, new: next });
      action += ` where ${before} and ${after}`;
    }
  }
  const text =
    `insert into ${ctx.table.from} as t (${names.join(', ')}, ${versionColumn}) ` +
    `select ${assigned.map(({ item }) => item).join(', ')}, $${columns.length + 1}::int8 from ${from} ` +
    `on conflict (${target}) ${action} returning t.${ident(idColumn.physical)}::text, (t.xmax = 0)::text`;
  return { text, values };
}

export function idJson(type: ColumnType, id: string | null): string | number | null {
  const { json } = describeColumnType(type);
  if (id === null || (json !== 'number' && json !== 'integer')) return id;
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : id;
}
