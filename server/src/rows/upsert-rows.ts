import { escapeIdentifier as ident } from 'pg';
import type { Transaction } from '../drivers/row-database/row-database.ts';
import { Failure, fail } from '../plumbing/problem.ts';
import { type CatalogueColumn, versionColumn } from '../tables/catalogue.ts';
import type { RowsCtx } from './context.ts';
import { idJson } from './id-json.ts';
import { LineReader, refusedLines } from './jsonl.ts';
import { newVersion, type SentRow } from './read-row.ts';
import { failureOfRow } from './row-errors.ts';
import { columnNamed, type RowTable } from './row-table.ts';
import { arrayText, sqlTypes } from './sql.ts';

export interface Upsert {
  /** The columns that tell which row is meant; a unique index covers exactly these. */
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
  const on = onConflict.split(',').map((name) => columnNamed(table, name));
  const unique = [[table.catalogue.idColumn], ...table.catalogue.unique.map(({ columns }) => columns)];
  const isUnique = unique.some(
    (columns) => columns.length === on.length && columns.every((column) => on.includes(column)),
  );
  if (!isUnique) {
    const detail = 'names columns that no unique constraint covers';
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

export interface Upserted {
  inserted: number;
  updated: number;
  ids: (string | number | null)[];
}

/**
 * Rows that are new are inserted; of those that are there, the columns that their line gives are changed, or nothing
 * is. Lines that give the same columns go together in one statement.
 */
export class UpsertRows {
  readonly #ctx: RowsCtx;
  readonly #upsert: Upsert;
  /** Undefined of a row that stands alone. */
  readonly #lines: (number | undefined)[] = [];
  readonly #rows: (readonly (string | null)[])[] = [];
  /** Places of rows, by which columns their lines give. */
  readonly #groups = new Map<string, number[]>();

  constructor(ctx: RowsCtx, upsert: Upsert) {
    this.#ctx = ctx;
    this.#upsert = upsert;
  }

  add(line: number | undefined, values: readonly (string | null)[], sent: SentRow): void {
    // By place: what the line leaves out is a hole, which `map` would leave out too.
    const given = Array.from(sent, (value) => (value === undefined ? '0' : '1')).join('');
    const group = this.#groups.get(given);
    if (group) group.push(this.#rows.length);
    else this.#groups.set(given, [this.#rows.length]);
    this.#lines.push(line);
    this.#rows.push(values);
  }

  async store(tx: Transaction): Promise<Upserted> {
    this.#refuseTwice();
    const total: Upserted = { inserted: 0, updated: 0, ids: [] };
    for (const [given, members] of this.#groups) {
      for (const slice of this.#slices(members)) await this.#storeSlice(tx, given, slice, total);
    }
    return total;
  }

  /** Not all at once: a statement is in memory several times on its way. */
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

  /** Where rows are refused, the half that holds the first of them is looked for, and in it again: its line is told. */
  async #storeSlice(
    tx: Transaction,
    given: string,
    members: readonly number[],
    total: Upserted,
  ): Promise<void> {
    const { table } = this.#ctx;
    const isMerge = this.#upsert.resolution === 'merge';
    const { text, values } = upsertSql(
      this.#ctx,
      this.#upsert,
      (at) => given[at] === '1',
      members,
      this.#rows,
    );
    await tx.query('savepoint slice', []);
    const result = await tx.query(text, values).catch((error: unknown) => {
      const refusal = failureOfRow(error, table, this.#lines[members[0] ?? 0]);
      if (!refusal) throw error;
      return refusal;
    });
    // Fewer than were sent: a row of somebody else's stood in the way, which this caller can neither see nor change.
    const isShort = !(result instanceof Failure) && isMerge && result.rows.length < members.length;
    if (result instanceof Failure || isShort) {
      const refusal = result instanceof Failure ? result : this.#taken(this.#lines[members[0] ?? 0]);
      if (members.length === 1) throw refusal;
      await tx.query('rollback to savepoint slice', []);
      const middle = members.length >> 1;
      await this.#storeSlice(tx, given, members.slice(0, middle), total);
      await this.#storeSlice(tx, given, members.slice(middle), total);
      // Apart they pass and together they do not: two lines of the batch get in each other's way.
      throw refusal;
    }
    for (const [place, [id, isNew]] of result.rows.entries()) {
      const shown = idJson(table.catalogue.idColumn.type, id ?? null);
      // Every line has its row then, and the statement gives them in the order of its lines.
      if (isMerge) total.ids[members[place] ?? 0] = shown;
      else total.ids.push(shown);
      if (isNew === 'true') total.inserted++;
      else total.updated++;
    }
  }

  #taken(line: number | undefined): Failure {
    const where = line === undefined ? { column: this.#upsert.on[0]?.name ?? '' } : { line };
    const detail = 'is in the way of a row that is not yours';
    return fail('unique_violation', { errors: [{ ...where, code: 'unique_violation', detail }] });
  }

  /** PostgreSQL refuses to change a row twice in one statement, and would not say which. */
  #refuseTwice(): void {
    const { on } = this.#upsert;
    const places = on.map((column) => this.#ctx.table.catalogue.columns.indexOf(column));
    const seen = new Set<string>();
    const reader = new LineReader();
    for (const [at, row] of this.#rows.entries()) {
      const key = places.map((place) => row[place] ?? null);
      if (key.includes(null)) continue;
      const text = JSON.stringify(key);
      if (seen.has(text)) {
        const detail = 'is given by an earlier line too';
        const column = on[0]?.name ?? '';
        reader.refuse(this.#lines[at] ?? 0, [{ column, code: 'duplicate_in_batch', detail }]);
      }
      seen.add(text);
    }
    if (reader.errors.length > 0) throw refusedLines(reader.errors);
  }
}

const sliceChars = 1024 * 1024;

function upsertSql(
  ctx: RowsCtx,
  upsert: Upsert,
  isGiven: (at: number) => boolean,
  members: readonly number[],
  rows: readonly (readonly (string | null)[])[],
) {
  const { columns, idColumn, owner } = ctx.table.catalogue;
  const values: (string | null)[] = columns.map((_, place) =>
    arrayText(members.map((member) => rows[member]?.[place] ?? null)),
  );
  // An array of JSON texts is one of texts: within an array of jsonb they would have to be escaped once more.
  const arrays = columns.map(({ type }, at) => `$${at + 1}::${type === 'jsonb' ? 'text' : sqlTypes[type]}[]`);
  const items = columns.map(({ type }, at) => (type === 'jsonb' ? `u.x${at}::jsonb` : `u.x${at}`));
  values.push(newVersion());
  const names = columns.map(({ physical }) => ident(physical));
  const from = `unnest(${arrays.join(', ')}) as u (${columns.map((_, at) => `x${at}`).join(', ')})`;
  const target = upsert.on.map(({ physical }) => ident(physical)).join(', ');
  const sets = columns
    .filter(
      (column, at) => isGiven(at) && column !== idColumn && column !== owner && !upsert.on.includes(column),
    )
    .map(({ physical }) => `${ident(physical)} = excluded.${ident(physical)}`);
  const touched = columns.find(({ role }) => role === 'updated_at');
  if (touched) sets.push(`${ident(touched.physical)} = now()`);
  sets.push(`${versionColumn} = t.${versionColumn} + 1`);
  let action = 'do nothing';
  if (upsert.resolution === 'merge') {
    action = `do update set ${sets.join(', ')}`;
    if (owner && ctx.access.ownRowsOf !== null) {
      values.push(ctx.access.ownRowsOf);
      action += ` where t.${ident(owner.physical)} = $${values.length}::${sqlTypes[owner.type]}`;
    }
  }
  const text =
    `insert into ${ctx.table.from} as t (${names.join(', ')}, ${versionColumn}) ` +
    `select ${items.join(', ')}, $${columns.length + 1}::int8 from ${from} ` +
    `on conflict (${target}) ${action} returning t.${ident(idColumn.physical)}::text, (t.xmax = 0)::text`;
  return { text, values };
}
