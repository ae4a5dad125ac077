import type { AppRef, MutationCtx } from '../../core/context.ts';
import { Failure, fail } from '../../core/problem.ts';
import { loadCatalogue } from '../tables/load-catalogue.ts';
import { runStatement } from '../tables/lock-table.ts';
import { hasRows } from './data-schema.ts';
import { ownersAccess } from './decide.ts';
import {
  advanceSequenceSql,
  fillDefaults,
  highestNumber,
  insertRights,
  isInsertable,
  isProblems,
  newVersion,
  nextNumberSql,
  parseRowObject,
  rowProblemsError,
} from './parse-row.ts';
import { rowError } from './row-errors.ts';
import { createOutput, type RowTable, rowTable, wholeView } from './row-table.ts';
import { insertSql } from './write-sql.ts';

export interface SeedFile {
  /** `.json`: `{"<table>": [{…}, …], …}`. `.csv`: a header and rows of the table that the file is named after. */
  path: string;
  text: string;
  rowsMax: number;
}

/** Inserts rows as an owner of the app, whose id is `userId`, would, into tables that have none. Returns how many. */
export async function seedTables(
  ctx: MutationCtx,
  app: AppRef,
  { file, userId }: { file: SeedFile; userId: string },
): Promise<number> {
  const tables = file.path.endsWith('.csv') ? csvTable(file) : jsonTables(file);
  const total = [...tables.values()].reduce((sum, rows) => sum + rows.length, 0);
  if (total > file.rowsMax)
    throw fail('validation_failed', { detail: `it has more than ${file.rowsMax} rows` });
  await ctx.rows.requireFinished(app.appId);
  let inserted = 0;
  for (const [name, rows] of tables) {
    const catalogue = await loadCatalogue(ctx.db, app, name);
    if (catalogue?.name !== name)
      throw fail('validation_failed', { detail: `the app has no table ${name.slice(0, 63)}` });
    const table = rowTable(catalogue, wholeView);
    if (await hasRows(await ctx.rows.tx(), table)) continue;
    await insertRows(ctx, table, { rows, userId });
    inserted += rows.length;
  }
  return inserted;
}

type SeedRow = Record<string, unknown> | CsvRow;

async function insertRows(
  ctx: MutationCtx,
  table: RowTable,
  { rows, userId }: { rows: readonly SeedRow[]; userId: string },
): Promise<void> {
  const tx = await ctx.rows.tx();
  const { columns, idColumn, name } = table.catalogue;
  const rights = insertRights(table, ownersAccess);
  const ids: (string | null | undefined)[] = [];
  for (const [at, row] of rows.entries()) {
    const text = row instanceof CsvRow ? row.toJson(table) : JSON.stringify(row);
    const input = parseRowObject(table, text, 0, text.length);
    if (isProblems(input)) throw inRow(rowProblemsError(input), { name, at });
    const filled = fillDefaults(table, input, {
      userId,
      rights,
      now: { sql: 'now()' },
      nextNumber: () => ({ sql: nextNumberSql(table) }),
    });
    if (isProblems(filled)) throw inRow(rowProblemsError(filled), { name, at });
    ids.push(input[columns.indexOf(idColumn)]);
    const inserted = columns
      .map((column, index) => ({ column, value: filled[index] ?? null }))
      .filter(({ column }) => isInsertable(column));
    const { text: sql, values } = insertSql(table, inserted, {
      version: newVersion(),
      returning: createOutput([]),
    });
    await runStatement(tx, { text: sql, values: values as string[] }).catch((error: unknown) => {
      throw inRow(rowError(error, table) ?? error, { name, at });
    });
  }
  const highest = highestNumber(table, ids);
  if (highest !== null) await runStatement(tx, { text: advanceSequenceSql(table), values: [highest] });
}

function inRow(error: unknown, { name, at }: { name: string; at: number }): unknown {
  if (!(error instanceof Failure)) return error;
  const detail = `row ${at + 1} of ${name}: ${error.detail ?? error.message}`;
  return fail('validation_failed', { detail }, { cause: error });
}

function jsonTables({ text }: SeedFile): Map<string, SeedRow[]> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw fail('validation_failed', { detail: 'it is not valid JSON' }, { cause: error });
  }
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const tables = isObject(json) ? Object.entries(json) : [];
  const areRows = (rows: unknown): rows is Record<string, unknown>[] =>
    Array.isArray(rows) && rows.every(isObject);
  if (tables.length === 0 || !tables.every(([, rows]) => areRows(rows)))
    throw fail('validation_failed', { detail: 'it must be an object with a list of rows for each table' });
  return new Map(tables as [string, SeedRow[]][]);
}

class CsvRow {
  constructor(
    readonly names: readonly string[],
    readonly values: readonly string[],
  ) {}

  toJson({ byName }: RowTable): string {
    const fields = this.names.map((name, at) => {
      const value = this.values[at] ?? '';
      const isPlain = plainTypes.includes(byName.get(name)?.type ?? '');
      return `${JSON.stringify(name)}:${value === '' ? 'null' : isPlain ? value : JSON.stringify(value)}`;
    });
    return `{${fields.join(',')}}`;
  }
}

const plainTypes: readonly string[] = ['int', 'bigint', 'float', 'bool', 'jsonb', 'text[]', 'int[]'];

function csvTable({ path, text }: SeedFile): Map<string, SeedRow[]> {
  const [names = [], ...rows] = parseCsv(text);
  const table = path.replace(/^.*\//, '').replace(/\.csv$/, '');
  return new Map([[table, rows.map((values) => new CsvRow(names, values))]]);
}

/** RFC 4180: a field may be in quotes, in which two quotes stand for one. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;
  const body = text.replace(/^\uFEFF/, '');
  while (field.lastIndex < body.length) {
    const found = field.exec(body);
    if (!found) throw fail('validation_failed', { detail: `it is not valid CSV: row ${rows.length + 1}` });
    row.push(found[1]?.replaceAll('""', '"') ?? found[2] ?? '');
    if (found[3] === ',') continue;
    if (row.length > 1 || row[0] !== '') rows.push(row);
    row = [];
  }
  return rows;
}
