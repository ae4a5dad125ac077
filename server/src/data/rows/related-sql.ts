import { escapeIdentifier as ident } from 'pg';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import type { PlannedCondition } from '../tables/conditions.ts';
import { bindAs, dialectOf, type Values } from './condition-sql.ts';
import { jsonKind } from './formats.ts';
import type { PlannedSort } from './plan.ts';
import type { RelatedPlan } from './plan-related.ts';
import { columnRef, isJoined, type Output, type RowTable } from './row-table.ts';
import {
  afterSql,
  distinctFrom,
  fromClause,
  readFrom,
  type Source,
  type Statement,
  versionIn,
} from './sql.ts';

export interface RelatedItem {
  key: string;
  column: CatalogueColumn;
  embed?: EmbedPlan;
}

export interface EmbedPlan {
  key: string;
  kind: 'one' | 'many';
  from: CatalogueColumn;
  to: CatalogueColumn;
  table: RowTable;
  where: readonly PlannedCondition[];
  sort: readonly PlannedSort[];
  limit: number;
  items: readonly RelatedItem[];
  own: Output;
  embeds: readonly EmbedPlan[];
}

/** Values of the select list come first in a statement, so that its text is always the same. */
export function selectItemsSql(items: readonly RelatedItem[]): Statement {
  const values: Values = [];
  return { text: items.map((item) => `${itemSql(item, values)}, `).join(''), values };
}

/** The page first, then related rows of its rows only. Selects name their rows `t`; those named `x` can compare with the `t` outside. */
export function relatedListSql(plan: RelatedPlan): Statement {
  const values: Values = [...plan.selected.values];
  const source = distinctFrom(readFrom(plan.table, plan.where, values), plan, values);
  if (plan.after) source.conditions.push(afterSql(plan, plan.after, values));
  let page = `${sourceSql(source, plan.sort)} order by ${orderBy(plan.sort, values, columnRef)} limit ${plan.perPage + 1}`;
  if (plan.page > 1) page += ` offset ${bindAs(values, String((plan.page - 1) * plan.perPage), 'int8')}`;
  const keys = plan.sort.map(({ column }, at) => keyRef('t', column, at)).join(', ');
  const order = orderBy(plan.sort, values, (column, at) => keyRef('t', column, at));
  return { text: `select ${plan.selected.text}${keys} from (${page}) t order by ${order}`, values };
}

export function relatedRowSql(
  { table, selected, where }: RelatedPlan,
  row: readonly PlannedCondition[],
): Statement {
  const values: Values = [...selected.values];
  const source = readFrom(table, [...row, ...where], values);
  return { text: `select ${selected.text}${versionIn(table)} from ${fromClause(source)}`, values };
}

export function existsSql({ table, where, from, to }: EmbedPlan, values: Values): string {
  const rows = sourceSql(readFrom(table, where, values), []);
  return `exists (select from (${rows}) x where x.${ident(to.physical)} = ${columnRef(from)})`;
}

/** Values of joined rows are not in `t`, so that those to sort by are added. */
function sourceSql(source: Source, sort: readonly PlannedSort[]): string {
  const keys = sort.flatMap(({ column }, at) =>
    isJoined(column) ? [`${columnRef(column)} as ${keyName(at)}`] : [],
  );
  return `select ${['t.*', ...keys].join(', ')} from ${fromClause(source)}`;
}

const keyName = (at: number) => ident(`svc key ${at}`);
const keyRef = (alias: string, column: CatalogueColumn, at: number) =>
  `${alias}.${isJoined(column) ? keyName(at) : ident(column.physical)}`;

function orderBy(
  sort: readonly PlannedSort[],
  values: Values,
  ref: (column: CatalogueColumn, at: number) => string,
): string {
  const { orderBy: orderOf } = dialectOf(values);
  return sort.map(({ column, descending }, at) => orderOf(ref(column, at), column, descending)).join(', ');
}

function itemSql({ column, embed }: RelatedItem, values: Values): string {
  // Cut where the whole page would be refused.
  return embed ? `left(${embedSql(embed, values)}, ${embeddedCharsMax})` : columnRef(column);
}

export const embeddedCharsMax = 32 * 1024 * 1024 + 1;

function embedSql(embed: EmbedPlan, values: Values): string {
  const { kind, table, where, sort, from, to, limit } = embed;
  const rows = sourceSql(readFrom(table, where, values), kind === 'many' ? sort : []);
  const related = `select x.* from (${rows}) x where x.${ident(to.physical)} = ${columnRef(from)}`;
  const object = objectSql(embed.items, values);
  if (kind === 'one') return `(select ${object} from (${related}) t)`;
  const order = (alias: string) => orderBy(sort, values, (column, at) => keyRef(alias, column, at));
  const list = `'[' || coalesce(string_agg(${object}, ',' order by ${order('t')}), '') || ']'`;
  return `(select ${list} from (${related} order by ${order('x')} limit ${limit}) t)`;
}

function objectSql(items: readonly RelatedItem[], values: Values): string {
  if (items.length === 0) return `'{}'`;
  const members = items.map(({ key, column, embed }, at) => {
    const name = bindAs(values, `${at === 0 ? '{' : ','}${JSON.stringify(key)}:`, 'text');
    const value = embed ? embedSql(embed, values) : jsonSql(column);
    return `${name} || ${column.nullable ? `coalesce(${value}, 'null')` : value}`;
  });
  return `${members.join(' || ')} || '}'`;
}

const safeInteger = String(Number.MAX_SAFE_INTEGER);

function jsonSql(column: CatalogueColumn): string {
  const value = columnRef(column);
  const quoted = `'"' || ${value}::text || '"'`;
  switch (jsonKind(column)) {
    case 'string':
    case 'strings':
    case 'numbers':
      return `to_json(${value})::text`;
    case 'number':
      return column.type === 'float' ? `to_json(${value})::text` : `${value}::text`;
    case 'boolean':
    case 'json':
      return `${value}::text`;
    case 'integer':
      return `case when ${value} between -${safeInteger} and ${safeInteger} then ${value}::text else ${quoted} end`;
    case 'token':
    case 'decimal':
      return `(${quoted})`;
    case 'timestamp':
      return (
        `case when substr(${value}::text, 11, 1) = ' '` +
        ` then '"' || overlay(left(${value}::text, -3) placing 'T' from 11 for 1) || 'Z"' else ${quoted} end`
      );
  }
}
