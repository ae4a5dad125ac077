import { escapeIdentifier as ident } from 'pg';
import { bindAs, dialectOf, type Values, valuesFor } from './condition-sql.ts';
import type { AggregatePlan, PlannedItem } from './plan-aggregate.ts';
import { columnRef, type RowTable } from './row-table.ts';
import { fromClause, pageSql, readFrom, type Statement, whereSql } from './sql.ts';

/** Groups what the caller sees. Sorts, pages and conditions on groups stand outside, as those of a list. */
export function aggregateSql({ source, where, items, groups }: AggregatePlan): Statement {
  const values = valuesFor(source);
  const rows = fromClause(readFrom(source, where, values));
  const selected = items.map((item) => `${itemSql(item, values)} as ${ident(item.column.physical)}`);
  const grouped = items.flatMap(({ isGroup }, at) => (isGroup ? [at + 1] : []));
  const by = grouped.length === 0 ? '' : ` group by ${grouped.join(', ')}`;
  const from = `(select ${selected.join(', ')} from ${rows}${by}) t`;
  return pageSql(groups, { from, conditions: whereSql(groups.where, values) }, values);
}

function itemSql({ item, of }: PlannedItem, values: Values): string {
  const dialect = dialectOf(values);
  const name = of ? columnRef(of) : '';
  if (item.kind === 'period' && of) {
    const zone = item.zone === null ? null : bindAs(values, item.zone, 'text');
    return dialect.startOf(item.part, name, { isDate: of.type === 'date', zone });
  }
  // Texts are compared by their bytes.
  const key = of ? dialect.sortKey(name, of) : '';
  if (item.kind !== 'value') return key;
  switch (item.name) {
    case 'count':
      return `count(${of ? name : '*'})`;
    case 'count_distinct':
      return `count(distinct ${key})`;
    case 'sum':
      return `sum(${name})`;
    case 'avg':
      return `${dialect.double(`sum(${name})`)} / count(${name})`;
    default:
      return `${item.name}(${key})`;
  }
}

/** Null if MySQL does not know the time zone. */
export function zoneSql(table: RowTable, zone: string): Statement {
  const values = valuesFor(table);
  const name = bindAs(values, zone, 'text');
  return { text: `select convert_tz('2000-01-01 00:00:00', '+00:00', ${name})`, values };
}
