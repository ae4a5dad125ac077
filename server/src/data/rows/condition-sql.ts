import { arrayText } from '@svc/contract/column-values.ts';
import { describeColumnType } from '@svc/contract/columns.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import type { PlannedCondition, PlannedTest } from '../tables/conditions.ts';
import { codedLiteral } from '../tables/ddl.ts';
import { type Dialect, mysqlDialect, postgresDialect } from './dialects.ts';
import { columnRef, type RowTable } from './row-table.ts';

/** Bound values, and how the database of the table writes what is bound. */
export interface Values extends Array<string | null> {
  dialect?: Dialect;
}

const dialects = { postgres: postgresDialect, mysql: mysqlDialect };
export const dialectOf = ({ dialect = postgresDialect }: Values) => dialect;

export function valuesFor({ catalogue: { foreign } }: Pick<RowTable, 'catalogue'>): Values {
  return foreign ? Object.assign([], { dialect: dialects[foreign.kind] }) : [];
}

/** For the conditions of `do update`: Citus does not send bound values there to its workers. Written as code points. */
export function constantValues(): Values {
  const values: Values = [];
  const castBound = (placeholder: string, sqlType: string) => {
    const value = values[Number(placeholder.slice(1)) - 1] ?? null;
    return `${value === null ? 'null' : codedLiteral(value)}::${sqlType}`;
  };
  return Object.assign(values, { dialect: { ...postgresDialect, castBound } });
}

export interface RowRefs {
  column(column: CatalogueColumn): string;
  old?(column: CatalogueColumn): string;
  new?(column: CatalogueColumn): string;
}

export const storedRow: RowRefs = { column: columnRef, old: columnRef };
export const newRow = (column: RowRefs['column']): RowRefs => ({ column, new: column });

export function conditionSql(condition: PlannedCondition, values: Values, refs: RowRefs = storedRow): string {
  if (condition.kind === 'test') {
    const text = testSql(condition, values, refs);
    return condition.negated ? `not (${text})` : text;
  }
  const parts = condition.parts.map((part) => conditionSql(part, values, refs));
  // An empty `and` is true, an empty `or` is false.
  const text =
    parts.length === 0 ? String(condition.kind === 'and') : `(${parts.join(` ${condition.kind} `)})`;
  return condition.negated ? `not ${text}` : text;
}

const comparisons = { eq: '=', neq: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

function testSql(test: PlannedTest, values: Values, refs: RowRefs): string {
  const { column } = test;
  const name = refs.column(column);
  const dialect = dialectOf(values);
  switch (test.op) {
    case 'same': {
      // There is no earlier row of an insert, and no later one of a read: the comparison is then not true.
      const other = refs[test.row]?.(test.other) ?? 'null';
      return dialect.compare(name, comparisons[test.as], other, column);
    }
    case 'related':
      return test.sql(values);
    case 'eq':
    case 'neq':
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      return dialect.compare(name, comparisons[test.op], bind(values, test.value, column), column);
    case 'cs':
      return dialect.contains(name, bind(values, test.value, column));
    case 'cd':
      return dialect.isContained(name, bind(values, test.value, column));
    case 'ov':
      return `${name} && ${bind(values, test.value, column)}`;
    case 'hk':
      return dialect.hasKey(name, bindText(values, test.value));
    case 'in':
      return oneOf(name, test.values, column, values);
    case 'between':
      return dialect.between(name, bind(values, test.from, column), bind(values, test.to, column), column);
    case 'is':
      if (test.keyword === 'null') return `${name} is null`;
      return test.keyword === 'not_null' ? `${name} is not null` : dialect.isTrue(name, test.keyword);
    case 'like':
      return dialect.like(name, bindText(values, test.value));
    case 'ilike':
      return dialect.likeAnyCase(name, bindText(values, test.value));
    case 'sw':
      return dialect.like(name, bindText(values, `${escapeLike(test.value)}%`));
    case 'ew':
      return dialect.like(name, bindText(values, `%${escapeLike(test.value)}`));
    case 'has':
      return dialect.like(name, bindText(values, `%${escapeLike(test.value)}%`));
    case 'isw':
      return dialect.likeAnyCase(name, bindText(values, `${escapeLike(test.value)}%`));
    case 'iew':
      return dialect.likeAnyCase(name, bindText(values, `%${escapeLike(test.value)}`));
    case 'ihas':
      return dialect.likeAnyCase(name, bindText(values, `%${escapeLike(test.value)}%`));
  }
}

function oneOf(name: string, items: readonly string[], column: CatalogueColumn, values: Values): string {
  const dialect = dialectOf(values);
  if (dialect.listsAreArrays) return `${name} = any(${bindArray(values, items, column)})`;
  if (items.length === 0) return 'false';
  return `(${items.map((item) => dialect.compare(name, '=', bind(values, item, column), column)).join(' or ')})`;
}

const escapeLike = (text: string) => text.replace(/[\\%_]/g, '\\$&');

const sqlTypeOf = ({ type, sqlType }: Pick<CatalogueColumn, 'type' | 'sqlType'>) =>
  sqlType ?? describeColumnType(type).sql;

export function bind(values: Values, value: string | null, column: CatalogueColumn): string {
  return bindAs(values, dialectOf(values).encode(value, column.type), sqlTypeOf(column));
}

const bindText = (values: Values, value: string) => bindAs(values, value, 'text');

export function bindAs(values: Values, value: string | null, sqlType: string): string {
  values.push(value);
  return dialectOf(values).castBound(`$${values.length}`, sqlType);
}

export function bindArray(
  values: Values,
  items: readonly (string | null)[],
  column: CatalogueColumn,
): string {
  return bindAs(values, arrayText(items), `${sqlTypeOf(column)}[]`);
}
