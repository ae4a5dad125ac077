import { type ColumnType, describeColumnType } from '@svc/contract/columns.ts';
import type { DatePart } from '@svc/contract/rows.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import { type Mask, type MaskContext, maskSql } from './masks.ts';

export type OrderOperator = '=' | '<>' | '>' | '>=' | '<' | '<=';

/** What differs between the databases that rows are in. Names are quoted alike, and values are `$1`, `$2` … in all of them. */
export interface Dialect {
  /** The text of a value, as it is sent. */
  encode(value: string | null, type: ColumnType): string | null;
  /** A sent value as one of the SQL type. */
  typed(placeholder: string, sqlType: string): string;
  compare(name: string, operator: OrderOperator, bound: string, column: CatalogueColumn): string;
  between(name: string, from: string, to: string, column: CatalogueColumn): string;
  /** Whether the array of values is one value, or each of its items. */
  listsAreArrays: boolean;
  like(name: string, pattern: string): string;
  likeAnyCase(name: string, pattern: string): string;
  isTrue(name: string, keyword: 'true' | 'false'): string;
  contains(name: string, part: string): string;
  isContained(name: string, whole: string): string;
  hasKey(name: string, key: string): string;
  /** In the order of PostgreSQL: texts by their bytes, nulls after all others. */
  orderBy(name: string, column: CatalogueColumn, descending: boolean): string;
  sortKey(name: string, column: CatalogueColumn): string;
  count: string;
  /** A select list without columns. */
  nothing: string;
  explain: string | null;
  mask(mask: Mask, value: string, context: MaskContext): string;
  cast(expression: string, type: ColumnType): string;
  double(expression: string): string;
  /** Weeks start on Monday. Without a zone in UTC. */
  startOf(part: DatePart, name: string, options: { isDate: boolean; zone: string | null }): string;
  offset(placeholder: string): string;
  /** What an insert answers with; empty where it cannot. */
  returning(names: readonly string[]): string;
  /** An insert of defaults only. */
  noValues: string;
}

/** Columns of apps use the collation "C"; in other databases the order of a text may depend on its language. */
const byBytes = (name: string, { hasOtherOrder }: CatalogueColumn) =>
  hasOtherOrder ? `${name} collate "C"` : name;

/** Equal texts have equal bytes, so that an index of any collation can be used. */
const isEquality = (operator: OrderOperator) => operator === '=' || operator === '<>';

export const postgresDialect: Dialect = {
  encode: (value) => value,
  typed: (placeholder, sqlType) => `${placeholder}::${sqlType}`,
  compare: (name, operator, bound, column) =>
    `${isEquality(operator) ? name : byBytes(name, column)} ${operator} ${bound}`,
  between: (name, from, to, column) => `${byBytes(name, column)} between ${from} and ${to}`,
  listsAreArrays: true,
  like: (name, pattern) => `${name} like ${pattern}`,
  // The collation "C" folds the case of ASCII only.
  likeAnyCase: (name, pattern) => `${name} collate "default" ilike ${pattern}`,
  isTrue: (name, keyword) => `${name} is ${keyword}`,
  contains: (name, part) => `${name} @> ${part}`,
  isContained: (name, whole) => `${name} <@ ${whole}`,
  hasKey: (name, key) => `${name} ? ${key}`,
  orderBy: (name, column, descending) => `${byBytes(name, column)}${descending ? ' desc' : ''}`,
  sortKey: byBytes,
  count: 'count(*)::text',
  nothing: '',
  explain: 'explain (format json) ',
  mask: maskSql,
  cast: (expression, type) => `(${expression})::${describeColumnType(type).sql}`,
  double: (expression) => `(${expression})::float8`,
  startOf(part, name, { isDate, zone }) {
    if (isDate) return `date_trunc('${part}', ${name}::timestamp)::date`;
    if (part === 'hour') return `date_trunc('hour', ${name}, ${zone ?? "'UTC'"})`;
    return `date_trunc('${part}', ${name} at time zone ${zone ?? "'UTC'"})::date`;
  },
  offset: (placeholder) => `${placeholder}::int8`,
  returning: (names) => ` returning ${names.join(', ')}`,
  noValues: 'default values',
};
