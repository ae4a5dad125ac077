import { indexesPerTableMax } from '@svc/contract/columns.ts';
import type { addIndex as shape } from '@svc/contract/tables.shapes.ts';
import type { z } from 'zod';
import type { AppCtx, AppMutationCtx } from '../../core/context.ts';
import { sqlState } from '../../core/db.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail, validationError } from '../../core/problem.ts';
import { isDeepEqual, isUuid } from '../../core/values.ts';
import { rebuildTable } from './alter-table.ts';
import { addIndexSql, dropIndexSql, dropVectorsSql } from './ddl.ts';
import {
  auditTable,
  lockTable,
  requireColumn,
  requireTable,
  saveTableChange,
  withTableLock,
} from './lock-table.ts';
import {
  countAttributes,
  defaultIndexName,
  duplicatePositions,
  formatIndex,
  indexKind,
  indexRecord,
  planIndex,
} from './rules.ts';
import type { DeclaredIndex, NamedIndex, SchemaStep } from './schema-steps.ts';
import { type ColumnRow, deleteIndexRows, insertIndexRow, type TableRow } from './store.ts';

export async function listIndexes(ctx: AppCtx, input: { table: string; query: PageQuery }) {
  const table = await requireTable(ctx, input.table);
  const records = table.indexes.map((index) => indexRecord(table, index));
  return paginate(input.query, records);
}

/** While the index is built, rows are readable but not writable. */
export async function addIndex(
  ctx: AppMutationCtx,
  input: { table: string; index: z.output<typeof shape.body> },
) {
  const table = await lockTable(ctx, input.table);
  const search = searchIndex(table, input.index);
  const kind = indexKind({ is_unique: input.index.unique, search });
  const columnNames = search ? Object.keys(input.index.search ?? {}) : input.index.columns;
  const columns = requireColumns(table, columnNames, search ? (_, name) => `search.${name}` : undefined);
  const plan = planIndex(columns, kind, requireColumn(table, 'id'));
  if (typeof plan === 'string') throw validationError(search ? 'search' : 'columns', plan);
  const names = table.indexes.map((index) => index.name);
  const name = input.index.name ?? defaultIndexName(columnNames, kind, names);
  if (names.includes(name)) throw fail('unique_violation', { detail: `Index ${name} already exists.` });
  if (names.length >= indexesPerTableMax) {
    throw fail('limit_reached', { detail: `A table can have at most ${indexesPerTableMax} indexes.` });
  }
  const numbers = columns.map((column) => column.number);
  const row = { id: ctx.newId(), name, columns: numbers, is_unique: plan.isUnique, search };
  const index = { ...row, created_at: ctx.now.toISOString() };
  await insertIndexRow(ctx.db, table, { ...row, created_at: ctx.now });
  const indexed = { ...table, indexes: [...table.indexes, index] };
  await saveTableChange(ctx, table, search ? { attributes_made: countAttributes(indexed) } : {});
  auditTable(ctx, 'indexes.add', table, null, { index: formatIndex(table, index) });
  // PostgreSQL would block readers while it computes the words of existing rows: a copy of the table does not.
  if (search) {
    await rebuildTable(ctx, indexed);
    return indexRecord(table, index);
  }
  await withTableLock(ctx, { table, block: 'writers' }, addIndexSql(table, row.id, plan)).catch(
    throwIndexError,
  );
  return indexRecord(table, index);
}

function searchIndex(table: TableRow, { search, language = 'simple' }: z.output<typeof shape.body>) {
  if (!search) return null;
  const existing = table.indexes.find((index) => index.search);
  if (existing)
    throw fail('unique_violation', {
      detail: `The table has the search index ${existing.name}. Drop it first.`,
    });
  return { language, weights: Object.values(search) };
}

function requireColumns(
  table: TableRow,
  names: readonly string[],
  field = (at: number, _name: string) => `columns.${at}`,
): ColumnRow[] {
  const [duplicate] = duplicatePositions(names);
  if (duplicate !== undefined) throw validationError(`columns.${duplicate}`, 'is listed twice', 'duplicate');
  return names.map((name, at) => {
    const column = table.columns.find((each) => each.name === name);
    if (!column) throw validationError(field(at, name), 'is not a column of the table', 'unknown_column');
    return column;
  });
}

function throwIndexError(error: unknown): never {
  const state = sqlState(error);
  if (state === '23505') {
    throw fail('unique_violation', { detail: 'Existing rows have the same values.' }, { cause: error });
  }
  if (state === '54000') {
    throw validationError('columns', 'contain a value that is too long for an index', 'too_long');
  }
  throw error;
}

export async function dropIndex(
  ctx: AppMutationCtx,
  input: { table: string; index: string },
): Promise<undefined> {
  const table = await lockTable(ctx, input.table);
  const ref = isUuid(input.index) ? { id: input.index.toLowerCase() } : { name: input.index };
  const index = table.indexes.find(({ id, name }) => id === ref.id || name === ref.name);
  if (!index) throw fail('not_found', { detail: `The table has no index ${input.index}.` });
  await deleteIndexRows(ctx.db, ctx.tenant.id, [index.id]);
  await saveTableChange(ctx, table);
  auditTable(ctx, 'indexes.drop', table, { index: formatIndex(table, index) }, null);
  const drop = index.search ? dropVectorsSql(table, index.columns) : dropIndexSql(table, index.id);
  await withTableLock(ctx, { table, block: 'everyone' }, drop);
}

type Keys = Pick<DeclaredIndex, 'columns' | 'unique' | 'search'>;

/** Each reference has one index by itself, which a file need not name. */
export function withoutReferenceIndexes<Index extends Keys>(
  indexes: readonly Index[],
  references: readonly string[],
): Index[] {
  const own = references.map((name) =>
    indexes.find(
      ({ columns, unique, search }) => !unique && !search && columns.length === 1 && columns[0] === name,
    ),
  );
  return indexes.filter((index) => !own.includes(index));
}

export function storedIndexes(row: Pick<TableRow, 'columns' | 'indexes'>): NamedIndex[] {
  return row.indexes.map((index) => {
    const { name, columns, unique, search, language } = indexRecord(row, index);
    return search
      ? { name, columns: [], unique, search, ...(language && { language }) }
      : { name, columns, unique };
  });
}

interface IndexesToPlan {
  stored: readonly NamedIndex[];
  declared: readonly DeclaredIndex[];
  references: readonly string[];
  linked: readonly string[];
  converted: readonly string[];
}

export function planIndexes(table: string, plan: IndexesToPlan): SchemaStep[] {
  const left = [...plan.stored];
  for (const column of plan.linked) {
    const names = left.map(({ name }) => name);
    left.push({ name: defaultIndexName([column], 'plain', names), columns: [column], unique: false });
  }
  const take = (matches: (index: NamedIndex) => boolean) => {
    const at = left.findIndex(matches);
    return at < 0 ? undefined : left.splice(at, 1)[0];
  };
  const late = ({ columns, search = {} }: DeclaredIndex) =>
    [...columns, ...Object.keys(search)].some((name) => plan.converted.includes(name)) && { isLate: true };
  // By name first: an index without a name must not take one that another names.
  const named = plan.declared.filter((index) => index.name !== undefined);
  const unnamed = plan.declared.filter((index) => index.name === undefined);
  const steps = [...named, ...unnamed].flatMap((index): SchemaStep[] => {
    const { name, search } = index;
    const found =
      (name === undefined ? take((each) => isSame(each, index)) : take((each) => each.name === name)) ??
      // A table has one.
      (search && take((each) => each.search !== undefined));
    if (!found) return [{ kind: 'add_index', table, index, ...late(index) }];
    const after = { ...index, name: name ?? found.name };
    if (found.name === after.name && isSame(found, index)) return [];
    return [{ kind: 'replace_index', table, before: found, after, ...late(index) }];
  });
  const dropped = withoutReferenceIndexes(left, plan.references);
  return [...steps, ...dropped.map((index): SchemaStep => ({ kind: 'drop_index', table, index }))];
}

function isSame(a: DeclaredIndex, b: DeclaredIndex): boolean {
  if (!a.search || !b.search)
    return !a.search && !b.search && a.unique === b.unique && isDeepEqual(a.columns, b.columns);
  return isDeepEqual(a.search, b.search) && (a.language ?? 'simple') === (b.language ?? 'simple');
}
