import { timingSafeEqual } from 'node:crypto';
import { describeColumnType } from '@svc/contract/columns.ts';
import type { Condition } from '@svc/contract/filter.ts';
import { perPageDefault } from '@svc/contract/limits.ts';
import { declareKey, type LiveKey } from '../../core/keys.ts';
import { fail } from '../../core/problem.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import { type PlannedCondition, planCondition } from '../tables/conditions.ts';
import type { ParsedQuery, SelectItem, SortKey } from './parse-query.ts';
import { createOutput, type Output, type RowTable, requireColumn } from './row-table.ts';
import { rankedSort, withSnippet } from './search.ts';

export interface ListPlan {
  table: RowTable;
  output: Output;
  where: readonly PlannedCondition[];
  /** Only the first of the rows that are equal in these columns is listed. */
  distinct: readonly CatalogueColumn[];
  sort: readonly PlannedSort[];
  after: readonly AfterKey[] | null;
  page: number;
  perPage: number;
}

/** The value of a sort key, or the id of the row to read a long value from. */
export type AfterKey = string | null | { rowId: string };

export interface PlannedSort {
  column: CatalogueColumn;
  descending: boolean;
}

export function planList(
  table: RowTable,
  query: ParsedQuery,
  readCursor: (token: string, sort: readonly PlannedSort[]) => readonly AfterKey[],
): ListPlan {
  const sort = table.search?.isRanked ? rankedSort(table) : planSort(table, query.sort);
  return {
    table,
    output: withSnippet(table, planSelect(table, query.select)),
    where: planWhere(table, query.where),
    distinct: planDistinct(table, query.distinct),
    sort,
    after: query.cursor === null ? null : readCursor(query.cursor, sort),
    page: query.page ?? 1,
    perPage: query.perPage ?? perPageDefault,
  };
}

export function planDistinct(table: RowTable, names: readonly string[]): CatalogueColumn[] {
  return names.map((name) => requireGroupable(requireColumn(table, name)));
}

/** JSON has no equality that all databases share. */
export function requireGroupable(column: CatalogueColumn): CatalogueColumn {
  if (describeColumnType(column.type).sql !== 'jsonb') return column;
  throw columnUseError(column, `cannot be grouped by, because its type is ${column.type}`);
}

export function columnUseError({ name }: CatalogueColumn, detail: string) {
  return fail('validation_failed', {
    detail: `${name}: ${detail}`,
    errors: [{ column: name, code: 'invalid_value', detail }],
  });
}

export function planWhere(table: RowTable, where: readonly Condition[]): PlannedCondition[] {
  const find = (name: string) => requireColumn(table, name);
  return where.map((condition) => planCondition(find, condition));
}

export function planSelect(table: RowTable, select: readonly SelectItem[] | null): Output {
  if (select === null) return table.all;
  return createOutput(
    withoutStar(table, select).map(({ column, alias }) => ({
      column: requireColumn(table, column),
      key: alias,
    })),
  );
}

/** `*` stands for all columns whose keys are not among the others. */
export function withoutStar(table: RowTable, select: readonly SelectItem[]): readonly SelectItem[] {
  if (!select.some(isStar)) return select;
  const keys = new Set(select.map(({ alias }) => alias));
  const rest = [...table.byName.keys()].filter((name) => !keys.has(name));
  return select.flatMap((item) =>
    isStar(item) ? rest.map((name) => ({ column: name, alias: name })) : [item],
  );
}

const isStar = ({ column, embed }: SelectItem) => column === '*' && !embed;

/** Appends the id, so that the order is total; in the direction of the key before it, so that one index serves both. */
export function planSort(
  table: RowTable,
  keys: readonly SortKey[],
  find = (name: string) => requireColumn(table, name),
): PlannedSort[] {
  const sort = keys.map(({ column, descending }) => ({ column: find(column), descending }));
  if (sort.some(({ column }) => column === table.order)) return sort;
  return [...sort, { column: table.order, descending: sort.at(-1)?.descending ?? false }];
}

export const cursorKey = declareKey({
  name: 'rows.cursor_key',
  protects: 'Cursors of row lists',
  acceptedSeconds: 24 * 3600,
});

export type Cursors = ReturnType<typeof createCursors>;

const signatureBytes = 16;
/** A longer key would make the URL too long: the next request reads it from the row instead. */
export const keyCharsMax = 512;
const readFromRow = 1;

export function createCursors(signing: LiveKey<string>) {
  const sign = (payload: string, key = signing.current()) =>
    new Bun.CryptoHasher('sha256', key).update(payload).digest().subarray(0, signatureBytes);
  return {
    write(plan: ListPlan, lastKeys: readonly (string | null)[]): string {
      const keys = lastKeys.map((value, at) =>
        value !== null && value.length > keyCharsMax && !isId(plan.table, plan.sort[at])
          ? readFromRow
          : value,
      );
      const payload = JSON.stringify([cursorScope(plan.table, plan.sort), ...keys]);
      return `${Buffer.from(payload).toString('base64url')}.${sign(payload).toString('base64url')}`;
    },
    /** In place of a number that would tell how much happens to rows that the caller does not see. */
    disguise: (text: string) => sign(text, `disguise ${signing.current()}`).toString('base64url'),
    read(table: RowTable, token: string, sort: readonly PlannedSort[]): readonly AfterKey[] {
      const [encoded = '', signature = '', ...rest] = token.split('.');
      const payload = Buffer.from(encoded, 'base64url').toString('utf8');
      const bytes = Buffer.from(signature, 'base64url');
      const isSigned = () => signing.accepted().some((key) => timingSafeEqual(bytes, sign(payload, key)));
      if (rest.length > 0 || bytes.length !== signatureBytes || !isSigned()) throw fail('invalid_cursor');
      const [scope, ...keys]: unknown[] = JSON.parse(payload);
      if (scope !== cursorScope(table, sort) || keys.length !== sort.length) throw fail('invalid_cursor');
      // The values need no check: they are signed, and come from a column of this type.
      const id = keys[sort.findIndex((key) => isId(table, key))];
      return keys.map((value) => {
        if (value === readFromRow && typeof id === 'string') return { rowId: id };
        return typeof value === 'string' ? value : null;
      });
    },
  };
}

const isId = (table: RowTable, key: PlannedSort | undefined) => key?.column === table.order;

/** Physical names: a cursor survives a rename, but not a new column under an old name, nor another type. */
function cursorScope(table: RowTable, sort: readonly PlannedSort[]): string {
  const keys = sort.map(
    ({ column, descending }) => `${descending ? '-' : ''}${column.physical}:${column.type}`,
  );
  return `${table.catalogue.id} ${keys.join(',')}`;
}
