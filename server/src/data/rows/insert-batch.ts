import { describeColumnType, type JsonKind } from '@svc/contract/columns.ts';
import { batchLinesMax, batchStatementMsMax } from '@svc/contract/rows.ts';
import { escapeIdentifier as ident } from 'pg';
import { ServerError } from '../../drivers/row-database/messages.ts';
import type { Transaction } from '../../drivers/row-database/row-pool.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { type CatalogueColumn, versionColumn } from '../tables/catalogue.ts';
import { isAlways, type PlannedCondition } from '../tables/conditions.ts';
import { jsonResponse, type RowsCtx } from './context.ts';
import {
  advanceSequenceSql,
  type FillOptions,
  fillDefaults,
  highestNumber,
  insertRights,
  isInsertable,
  isProblems,
  newVersion,
  nextNumberSql,
  type RowInput,
} from './parse-row.ts';
import { LineReader, pieceBytes, type ReceivedBody, type RowLine } from './request-body.ts';
import { rowError } from './row-errors.ts';
import type { RowTable } from './row-table.ts';
import { violationSql } from './sql.ts';
import { idJson, type Upsert, UpsertRows } from './upsert-rows.ts';
import {
  countPreviewConflict,
  insertCheck,
  presentColumns,
  previewResponse,
  refusedRowError,
  runWrite,
} from './write-transaction.ts';

interface BatchRows {
  readonly size: number;
  add(line: number, values: (string | null)[], input: RowInput): void;
  /** No more rows come, or none is to be stored. */
  end?(error?: unknown): void;
  store: CopyRows['store'] | UpsertRows['store'];
}

/**
 * Smaller batches are parsed in one turn. A larger one is parsed before it takes a connection, and so are rows whose
 * numbers the database gives: a batch that waits for a second connection could wait for itself.
 */
const parsedMeanwhileBytesMax = 4 * 1024 * 1024;

export async function insertBatch(
  ctx: RowsCtx,
  body: ReceivedBody,
  options: { dryRun: boolean; key: string | null; upsert: Upsert | null },
): Promise<FastPathResponse> {
  const rows: BatchRows = options.upsert ? new UpsertRows(ctx, options.upsert) : new CopyRows(ctx);
  const parsing = collectRows(ctx, body, rows);
  const isParsedMeanwhile =
    rows instanceof CopyRows &&
    body.size > pieceBytes &&
    body.size <= parsedMeanwhileBytesMax &&
    ctx.table.catalogue.idColumn.default?.kind !== 'sequence';
  if (!isParsedMeanwhile) await parsing;
  const operationsCount = isParsedMeanwhile ? batchLinesMax : rows.size;
  const write = { ...options, bodyHash: () => body.sha256(), operationsCount };
  const stored = runWrite(ctx, write, async (tx, mode) => {
    await tx.query(`set local statement_timeout = ${batchStatementMsMax}`, []);
    const result = await rows.store(tx);
    const highestId = await parsing;
    if (highestId !== null && mode === 'execute') await tx.query(advanceSequenceSql(ctx.table), [highestId]);
    const { ids: _, ...counts } = result;
    // Callers who do not see ids do not learn those of existing rows.
    const showsIds = ctx.table.key === ctx.table.catalogue.idColumn;
    if (mode === 'execute') return jsonResponse(201, JSON.stringify(showsIds ? result : counts));
    if (rows instanceof UpsertRows && result.ids.length < rows.size) countPreviewConflict(ctx);
    return previewResponse(ctx, insertOperation, { id: '', before: null, after: counts });
  });
  // A problem of the body is the answer, whatever the database says of the rows before it.
  const [parsed, answer] = await Promise.allSettled([parsing, stored]);
  if (parsed.status === 'rejected') throw parsed.reason;
  if (answer.status === 'rejected') throw answer.reason;
  return answer.value;
}

export const insertOperation = { id: 'rows.insert', irreversible: false };

/** Parsing 20 parallel batches of 16 MiB took 500 MB; with forced collections 250 MB in the same time. */
const gcEveryChars = 4 * 1024 * 1024;

async function collectRows(ctx: RowsCtx, body: ReceivedBody, rows: BatchRows): Promise<string | null> {
  try {
    return await parseRows(ctx, body, rows);
  } catch (error) {
    rows.end?.(error);
    throw error;
  }
}

async function parseRows(ctx: RowsCtx, body: ReceivedBody, rows: BatchRows): Promise<string | null> {
  const { columns, idColumn } = ctx.table.catalogue;
  const idAt = columns.indexOf(idColumn);
  let highestId: string | null = null;
  const reader = new LineReader();
  let read = 0;
  for (const piece of body.pieces()) {
    const lines = reader.read(ctx.table, piece);
    const numbers = await nextNumbers(ctx, lines);
    highestId = highestNumber(ctx.table, [highestId, ...lines.map(({ row }) => row[idAt])]);
    const fillOptions = textFillOptions(ctx, numbers);
    for (const { line, row } of lines) {
      const values = fillDefaults(ctx.table, row, fillOptions);
      if (isProblems(values)) reader.addProblems(line, values);
      else if (reader.errors.length === 0) rows.add(line, values, row);
    }
    if (piece.length === body.size) break;
    // Serves other requests in between.
    await new Promise(setImmediate);
    read += piece.length;
    if (read < gcEveryChars) continue;
    read = 0;
    Bun.gc(true);
  }
  reader.end();
  rows.end?.();
  return highestId;
}

export function textFillOptions({ caller, access, table }: RowsCtx, numbers: string[]): FillOptions<string> {
  const rights = insertRights(table, access);
  // PostgreSQL reads the text `now` as the time of the transaction.
  return { userId: caller.userId, rights, now: 'now', nextNumber: () => numbers.pop() ?? '' };
}

export async function nextNumbers(ctx: RowsCtx, lines: readonly Pick<RowLine, 'row'>[]): Promise<string[]> {
  const { columns, idColumn } = ctx.table.catalogue;
  if (idColumn.default?.kind !== 'sequence') return [];
  const idAt = columns.indexOf(idColumn);
  const count = lines.filter(({ row }) => row[idAt] === undefined).length;
  if (count === 0) return [];
  const text = `select ${nextNumberSql(ctx.table)}::text from generate_series(1, $1::int)`;
  const { rows } = await ctx.rowDb.run('write', text, [String(count)]);
  return rows.map(([number]) => number ?? '').reverse();
}

/** Rows with values for the same columns. The ids of those that have to be checked. */
interface InsertGroup {
  check: PlannedCondition;
  ids: string[] | null;
}

function hasSameColumns(one: RowInput, other: RowInput): boolean {
  for (let at = 0; at < one.length; at++) {
    if ((one[at] === undefined) !== (other[at] === undefined)) return false;
  }
  return true;
}

class CopyRows {
  readonly #ctx: RowsCtx;
  readonly #table: RowTable;
  readonly #idAt: number;
  readonly #allGiven: boolean;
  readonly #groups = new Map<string, InsertGroup>();
  #last: { input: RowInput; group: InsertGroup } | null = null;
  readonly #version = newVersion();
  readonly #data: CopyText;
  readonly #ids: (string | number | null)[] = [];
  readonly #lines: number[] = [];

  constructor(ctx: RowsCtx) {
    const { table } = ctx;
    this.#ctx = ctx;
    this.#table = table;
    this.#allGiven = table.catalogue.columns.every(isInsertable);
    this.#data = new CopyText(table.catalogue.columns.filter(isInsertable).map(mayHaveSpecials));
    this.#idAt = table.catalogue.columns.indexOf(table.catalogue.idColumn);
  }

  get size(): number {
    return this.#ids.length;
  }

  add(line: number, values: (string | null)[], input: RowInput): void {
    this.#lines.push(line);
    this.#groupOf(input).ids?.push(values[this.#idAt] ?? '');
    this.#ids.push(idJson(this.#table.catalogue.idColumn.type, values[this.#idAt] ?? null));
    const given = this.#allGiven ? values : values.filter((_, at) => this.#isGivenAt(at));
    given.push(this.#version);
    this.#data.add(given);
  }

  end(error?: unknown): void {
    this.#data.end(error);
  }

  async store(tx: Transaction): Promise<{ inserted: number; ids: (string | number | null)[] }> {
    const { columns } = this.#table.catalogue;
    const names = [...columns.filter(isInsertable).map(({ physical }) => ident(physical)), versionColumn];
    try {
      await tx.copy(`copy ${this.#table.from} (${names.join(', ')}) from stdin`, this.#data);
    } catch (error) {
      throw rowError(error, this.#table, this.#failedLine(error)) ?? error;
    }
    for (const { check, ids } of this.#groups.values()) {
      if (ids === null) continue;
      const { text, values } = violationSql(this.#table, ids, check);
      if ((await tx.query(text, values)).rows.length > 0) throw refusedRowError();
    }
    return { inserted: this.#ids.length, ids: this.#ids };
  }

  #isGivenAt(at: number): boolean {
    const column = this.#table.catalogue.columns[at];
    return column !== undefined && isInsertable(column);
  }

  /** Rows that follow each other mostly have the same columns. */
  #groupOf(input: RowInput): InsertGroup {
    if (this.#last && hasSameColumns(this.#last.input, input)) return this.#last.group;
    const columns = presentColumns(this.#ctx, input);
    const key = columns.join();
    let group = this.#groups.get(key);
    if (!group) {
      const check = insertCheck(this.#ctx, columns);
      group = { check, ids: isAlways(check) ? null : [] };
      this.#groups.set(key, group);
    }
    this.#last = { input, group };
    return group;
  }

  /** PostgreSQL reports the row's number, starting at 1, in the error's context. */
  #failedLine(error: unknown): number | undefined {
    if (!(error instanceof ServerError)) return undefined;
    const row = /, line (\d+)/.exec(error.where ?? '')?.[1];
    return row === undefined ? undefined : this.#lines[Number(row) - 1];
  }
}

/** PostgreSQL begins with the first of them. */
const copyFlushChars = 64 * 1024;

const kindsWithSpecials: readonly JsonKind[] = ['string', 'strings', 'json'];
const mayHaveSpecials = ({ type }: CatalogueColumn) =>
  kindsWithSpecials.includes(describeColumnType(type).json);

/** COPY text format: values separated by tabs, `\N` for null, special characters escaped. Can be read while rows are added, and again. */
export class CopyText {
  readonly #chunks: Uint8Array[] = [];
  #parts: string[] = [];
  #length = 0;
  #ended: { error?: unknown } | null = null;
  #changed = Promise.withResolvers<void>();
  readonly #escapes: readonly boolean[];

  /** Which values may have characters to escape. */
  constructor(escapes: readonly boolean[]) {
    this.#escapes = escapes;
  }

  add(values: readonly (string | null)[]): void {
    let row = '';
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (i > 0) row += '\t';
      if (value === null || value === undefined) row += '\\N';
      else row += this.#escapes[i] ? escapeCopyValue(value) : value;
    }
    row += '\n';
    this.#parts.push(row);
    this.#length += row.length;
    if (this.#length >= copyFlushChars) this.#flush();
  }

  end(error?: unknown): void {
    this.#flush();
    this.#ended = { error };
    this.#changed.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (let at = 0; ; ) {
      const chunk = this.#chunks[at];
      if (chunk) {
        at++;
        yield chunk;
      } else if (this.#ended) {
        if (this.#ended.error !== undefined) throw this.#ended.error;
        return;
      } else await this.#changed.promise;
    }
  }

  #flush(): void {
    if (this.#parts.length === 0) return;
    this.#chunks.push(Buffer.from(this.#parts.join('')));
    this.#parts = [];
    this.#length = 0;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

const copySpecial = /[\\\n\r\t]/;
const copyEscapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapeCopyValue(value: string): string {
  return copySpecial.test(value) ? value.replace(/[\\\n\r\t]/g, (char) => copyEscapes[char] ?? char) : value;
}
