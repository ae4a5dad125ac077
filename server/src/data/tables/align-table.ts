import { checkNames, parseChecks } from '@svc/contract/column-checks.ts';
import { enumValues } from '@svc/contract/column-families.ts';
import { type ColumnType, columnsPerTableMax, indexesPerTableMax } from '@svc/contract/columns.ts';
import { typeChangeProblem } from '@svc/contract/type-changes.ts';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import { sqlState } from '../../core/db.ts';
import { Failure } from '../../core/problem.ts';
import { tableTag } from '../../core/tags.ts';
import { isDeepEqual } from '../../core/values.ts';
import { isNamedByRules } from './access.ts';
import { alterColumn, isRebuiltFor } from './alter-table.ts';
import { createLogSql, hasHistory, indexLogSql, isLogged } from './change-log.ts';
import { addColumnSql, addIndexSql, addVectorsSql } from './ddl.ts';
import { resetTimeouts, run, runStatements, withTableLock } from './lock-table.ts';
import { countAttributes, countDeclaredColumns, indexKind, needsRebuild, planIndex } from './rules.ts';
import {
  type ColumnRow,
  findTableRow,
  type IndexRow,
  insertColumnRows,
  insertIndexRow,
  type TableRow,
  updateColumnRow,
  updateTableRow,
} from './store.ts';

export async function alignTable(ctx: MutationCtx, app: AppRef, original: TableRow, copy: TableRow) {
  return [
    ...(await alignOptions(ctx, original, copy)),
    ...(await addMissingColumns(ctx, original, await reload(ctx, app, copy))),
    ...(await alignColumns(ctx, original, await reload(ctx, app, copy))),
    ...(await addMissingIndexes(ctx, original, await reload(ctx, app, copy))),
  ];
}

async function alignOptions(ctx: MutationCtx, original: TableRow, copy: TableRow): Promise<string[]> {
  const longer = (a: number | null, b: number | null) =>
    a === null || b === null ? (a ?? b) : Math.max(a, b);
  const options = {
    changes: copy.changes || original.changes,
    history_days: longer(copy.history_days, original.history_days),
    soft_delete_days: longer(copy.soft_delete_days, original.soft_delete_days),
  };
  const names = (['changes', 'history_days', 'soft_delete_days'] as const).filter(
    (name) => options[name] !== copy[name],
  );
  if (names.length === 0) return [];
  const after = { ...copy, ...options, version: copy.version + 1, updated_at: ctx.now };
  await updateTableRow(ctx.db, copy, { ...options, version: after.version, updated_at: ctx.now });
  const isIndexed = isLogged(copy) && hasHistory(copy);
  const log = isLogged(copy) ? indexLogSql(after) : createLogSql(after, ctx.rows.role);
  if (!isIndexed) await withTableLock(ctx, { table: copy, block: 'writers' }, log);
  for (const tx of new Set([await ctx.rows.tx(), ctx.db])) await resetTimeouts(tx);
  ctx.invalidate(tableTag(copy.id));
  return names.map((name) => `${copy.name}: ${name.replace('_days', '')}`);
}

async function addMissingColumns(ctx: MutationCtx, original: TableRow, copy: TableRow): Promise<string[]> {
  const missing = original.columns.filter(({ name }) => copy.columns.every((each) => each.name !== name));
  const isFull = countDeclaredColumns(copy.columns) + missing.length > columnsPerTableMax;
  if (missing.length === 0 || isFull || needsRebuild(copy.attributes_made, missing.length)) return [];
  const columns = missing.map((column, at) => ({
    ...withoutReference(column),
    number: copy.columns_made + at + 1,
    nullable: column.type !== 'autonumber' && (column.nullable || column.default_text === null),
  }));
  await insertColumnRows(ctx.db, copy, columns);
  await updateTableRow(ctx.db, copy, {
    columns_made: copy.columns_made + columns.length,
    attributes_made: copy.attributes_made + columns.length,
    version: copy.version + 1,
    updated_at: ctx.now,
  });
  const statements = columns.flatMap((column) => addColumnSql(copy, column));
  await withTableLock(ctx, { table: copy, block: 'everyone' }, statements);
  for (const tx of new Set([await ctx.rows.tx(), ctx.db])) await resetTimeouts(tx);
  ctx.invalidate(tableTag(copy.id));
  return columns.map(({ name }) => `${copy.name}.${name}`);
}

export function withoutReference({ target, ...column }: ColumnRow): ColumnRow {
  return { ...column, ref_table: null, on_delete: null };
}

async function reload(ctx: MutationCtx, app: AppRef, table: TableRow): Promise<TableRow> {
  return (await findTableRow(ctx.db, app, table.id)) ?? table;
}

async function alignColumns(ctx: MutationCtx, original: TableRow, copy: TableRow): Promise<string[]> {
  const changed: string[] = [];
  let table = copy;
  for (const source of original.columns) {
    const before = table.columns.find(({ name }) => name === source.name);
    if (before?.role !== 'plain' || source.role !== 'plain') continue;
    const after = alignedColumn(table, source, before);
    if (isDeepEqual(before, after)) continue;
    try {
      await alterColumn(ctx, table, before, after);
    } catch (error) {
      if (error instanceof Failure && error.code === 'check_violation') continue;
      throw error;
    }
    await updateColumnRow(ctx.db, table, after);
    const saved = {
      version: table.version + 1,
      updated_at: ctx.now,
      ...(isRebuiltFor(before, after) && { attributes_made: countAttributes(table) }),
    };
    await updateTableRow(ctx.db, table, saved);
    const columns = table.columns.map((column) => (column === before ? after : column));
    table = { ...table, ...saved, columns };
    changed.push(`${table.name}.${after.name}`);
  }
  if (changed.length === 0) return [];
  for (const tx of new Set([await ctx.rows.tx(), ctx.db])) await resetTimeouts(tx);
  ctx.invalidate(tableTag(copy.id));
  return changed;
}

function alignedColumn(table: TableRow, source: ColumnRow, column: ColumnRow): ColumnRow {
  const isOwner = column.number === table.owner_column;
  const type =
    isOwner || isNamedByRules(table.rules, column.name) ? column.type : alignedType(source, column);
  const own = column.checks ?? {};
  const missing = checkNames.filter(
    (check) => own[check] === undefined && source.checks?.[check] !== undefined,
  );
  const added = Object.fromEntries(missing.map((check) => [check, source.checks?.[check]]));
  const parsed = parseChecks(type, { ...own, ...added });
  if (!parsed.ok) return column;
  const hasChecks = checkNames.some((check) => parsed.checks[check] !== undefined);
  return { ...column, type, checks: hasChecks ? parsed.checks : null };
}

function alignedType(source: ColumnRow, column: ColumnRow): ColumnType {
  const [theirs, own] = [enumValues(source.type), enumValues(column.type)];
  if (theirs && own) return `enum(${[...new Set([...own, ...theirs])].join(',')})`;
  // A default may not fit another type.
  const isPossible = column.default_text === null && typeChangeProblem(column.type, source.type) === null;
  return isPossible ? source.type : column.type;
}

/** An index that the rows of the copy do not allow, or that has columns which the copy lacks, is not added. */
async function addMissingIndexes(ctx: MutationCtx, original: TableRow, copy: TableRow): Promise<string[]> {
  const byNumber = new Map(original.columns.map(({ number, name }) => [number, name]));
  const added: string[] = [];
  for (const { name, columns: numbers, is_unique, search } of original.indexes) {
    if (copy.indexes.some((index) => index.name === name || (search && index.search))) continue;
    if (copy.indexes.length + added.length >= indexesPerTableMax) break;
    const columns = numbers.flatMap(
      (number) => copy.columns.find((column) => column.name === byNumber.get(number)) ?? [],
    );
    if (columns.length < numbers.length) continue;
    const tx = await ctx.rows.tx();
    await run(tx, 'savepoint missing_index');
    try {
      await buildIndex(ctx, copy, { name, columns, is_unique, search });
      added.push(`${copy.name}.${name}`);
    } catch (error) {
      if (!['23505', '54000'].includes(sqlState(error) ?? '')) throw error;
      await run(tx, 'rollback to savepoint missing_index');
    }
  }
  if (added.length > 0) ctx.invalidate(tableTag(copy.id));
  return added;
}

/** Caller must hold the locks of the table, or have created it. */
export async function buildIndex(
  ctx: MutationCtx,
  table: TableRow,
  {
    name,
    columns,
    is_unique,
    search,
  }: Pick<IndexRow, 'name' | 'is_unique' | 'search'> & { columns: readonly ColumnRow[] },
): Promise<IndexRow> {
  const id = table.columns.find(({ role }) => role === 'id');
  const plan = planIndex(columns, indexKind({ is_unique, search }), { number: id?.number ?? 0 });
  if (typeof plan === 'string') throw new Error(`The index ${name} of ${table.name} ${plan}.`);
  const numbers = columns.map(({ number }) => number);
  const index = { id: ctx.newId(), name, columns: numbers, is_unique, search, created_at: ctx.now };
  const vectors = search ? addVectorsSql({ ...table, indexes: [{ ...index, created_at: '' }] }) : [];
  await runStatements(await ctx.rows.tx(), [...vectors, ...addIndexSql(table, index.id, plan)]);
  await insertIndexRow(ctx.db, table, index);
  return { ...index, created_at: ctx.now.toISOString() };
}
