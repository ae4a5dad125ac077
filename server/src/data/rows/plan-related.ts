import type { Condition } from '@svc/contract/filter.ts';
import { perPageDefault } from '@svc/contract/limits.ts';
import { embedDepthMax, embedRowsMax } from '@svc/contract/rows.ts';
import { fail, validationError } from '../../core/problem.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import { type PlannedCondition, planCondition } from '../tables/conditions.ts';
import type { RowsCtx } from './context.ts';
import { parseLimit, parseRelatedCondition, type RelatedParameter } from './parse-embeds.ts';
import {
  type ParsedQuery,
  parseSort,
  type SelectItem,
  type SortKey,
  unknownParameterError,
} from './parse-query.ts';
import {
  type AfterKey,
  type ListPlan,
  type PlannedSort,
  planDistinct,
  planWhere as planOwnWhere,
  planSort,
  withoutStar,
} from './plan.ts';
import { type EmbedPlan, existsSql, type RelatedItem, selectItemsSql } from './related-sql.ts';
import { findRelation, knownFrame, type OpenRelated, type RelatedTable, type Relation } from './relations.ts';
import {
  createOutput,
  failUnknown,
  isJoined,
  type Join,
  joinedColumn,
  type Output,
  type RowTable,
} from './row-table.ts';
import type { Statement } from './sql.ts';

/** Rows of one table in the query: the listed ones, or those of an embed. */
interface Scope {
  table: RowTable;
  joins: Join[];
  select: readonly SelectItem[];
  embeds: Embed[];
  where: { condition: Condition; hops: readonly string[] }[];
  sort: readonly SortKey[];
  limit: number;
  used: Set<'sort' | 'limit'>;
}

interface Embed {
  key: string;
  relation: Relation;
  isInner: boolean;
  isShown: boolean;
  scope: Scope;
}

export interface RelatedFrame {
  table: RowTable;
  opened: ReadonlyMap<string, RelatedTable | null>;
  output: Output;
  own: Output;
  embeds: readonly EmbedPlan[];
  selected: Statement;
  where: readonly PlannedCondition[];
  distinct: readonly CatalogueColumn[];
  sort: readonly PlannedSort[];
  notes: readonly string[];
}

export interface RelatedPlan extends RelatedFrame, Omit<ListPlan, keyof RelatedFrame> {}

export async function planRelated(
  ctx: Pick<RowsCtx, 'openRelated' | 'table' | 'search'>,
  query: ParsedQuery,
  readCursor: (table: RowTable, token: string, sort: readonly PlannedSort[]) => readonly AfterKey[],
): Promise<RelatedPlan> {
  const isOwn = query.where.every((condition) => isOwnCondition(ctx.table, condition));
  const frame = isOwn
    ? await knownFrame(ctx, `${countTests(query.where)}`, () => planFrame(ctx, query, []))
    : await planFrame(ctx, query, query.where);
  query.notes.push(...frame.notes);
  return {
    ...frame,
    where: isOwn ? [...frame.where, ...planOwnWhere(ctx.table, query.where)] : frame.where,
    after: query.cursor === null ? null : readCursor(frame.table, query.cursor, frame.sort),
    page: query.page ?? 1,
    perPage: query.perPage ?? perPageDefault,
  };
}

const isOwnCondition = (table: RowTable, condition: Condition): boolean =>
  condition.kind === 'test'
    ? table.byName.has(condition.column)
    : condition.parts.every((part) => isOwnCondition(table, part));

async function planFrame(
  ctx: Pick<RowsCtx, 'openRelated' | 'table'>,
  query: ParsedQuery,
  conditions: readonly Condition[],
): Promise<RelatedFrame> {
  const opened = new Map<string, RelatedTable | null>();
  const open: OpenRelated = async (tableId) => {
    const found = opened.get(tableId) ?? (await ctx.openRelated(tableId));
    opened.set(tableId, found);
    return found;
  };
  const select = query.select ?? [{ column: '*', alias: '*' }];
  const scope = await openScope(open, ctx.table, select);
  scope.where.push(...conditions.map((condition) => ({ condition, hops: [] })));
  scope.sort = query.sort;
  const tally = { tests: countTests(query.where), notes: [] as string[] };
  for (const parameter of query.related) applyParameter(scope, parameter, tally);
  const { table, where, sort, items, own, embeds } = await planScope(open, scope);
  const distinct = planDistinct(table, query.distinct);
  if (distinct.length > 0 && sort.some(({ column }) => isJoined(column)))
    throw validationError('distinct', 'cannot be combined with a sort by related rows');
  const output = createOutput(items.map(({ column, key }) => ({ column, key })));
  return {
    table,
    opened,
    output,
    own,
    embeds,
    selected: selectItemsSql(items),
    where,
    distinct,
    sort,
    notes: tally.notes,
  };
}

async function openScope(open: OpenRelated, table: RowTable, select: readonly SelectItem[]): Promise<Scope> {
  const embeds: Embed[] = [];
  for (const { alias, embed } of select) {
    if (!embed) continue;
    const relation = await findRelation(open, table, embed.name, embed.hint);
    if (!relation) throw unknownRelationError(embed.name);
    const scope = await openScope(open, relation.other.table, embed.select);
    embeds.push({
      key: alias,
      relation,
      isInner: embed.isInner,
      isShown: embed.select.length > 0,
      scope,
    });
  }
  return { table, joins: [], select, embeds, where: [], sort: [], limit: embedRowsMax, used: new Set() };
}

function unknownRelationError(name: string) {
  const label = name.length > 63 ? 'with this name' : `\`${name}\``;
  return fail('unknown_column', {
    detail: `The table has no related rows ${label}.`,
    errors: [
      {
        field: 'select',
        code: 'unknown_column',
        detail: `${name.slice(0, 63)} is not a relation of this table`,
      },
    ],
  });
}

const countTests = (conditions: readonly Condition[]): number =>
  conditions.reduce((sum, each) => sum + (each.kind === 'test' ? 1 : countTests(each.parts)), 0);

/** `comments.status=eq.open` filters the embedded rows, `author.name=eq.Ada` the rows that refer to an author. */
function applyParameter(
  top: Scope,
  parameter: RelatedParameter,
  tally: { tests: number; notes: string[] },
): void {
  const { path, last, name } = parameter;
  let holder = top;
  let hops: string[] = [];
  let inner: Scope | null = top;
  let embed: Embed | null = null;
  for (const step of path) {
    embed = inner?.embeds.find(({ key }) => key === step) ?? null;
    inner = embed?.scope ?? null;
    if (embed?.relation.kind === 'many') {
      holder = embed.scope;
      hops = [];
    } else hops.push(step);
  }
  if (embed?.relation.kind === 'many') {
    const { table } = embed.scope;
    const plain = last.startsWith('_') ? last.slice(1) : last;
    // A column keeps its meaning.
    if (plain === 'limit' && !(plain === last && table.byName.has(last))) {
      requireOnce(embed.scope, 'limit', name);
      embed.scope.limit = parseLimit(parameter);
      return;
    }
    if (last === 'sort') {
      requireOnce(embed.scope, 'sort', name);
      embed.scope.sort = parseSort(parameter.value, name);
      return;
    }
  } else if (embed && (last === 'sort' || last === 'limit'))
    throw validationError(name, `${embed.key} is one row`);
  if (hops.length > 0 && inner?.embeds.some(({ key }) => key === last) && !inner.table.byName.has(last))
    throw validationError(name, 'of one row, only columns can be compared; use !inner instead');
  const condition = parseRelatedCondition(parameter, tally);
  if (!condition) throw unknownParameterError(name);
  holder.where.push({ condition, hops });
}

function requireOnce({ used }: Scope, kind: 'sort' | 'limit', name: string): void {
  if (used.has(kind)) throw validationError(name, 'is repeated', 'duplicate');
  used.add(kind);
}

interface PlannedScope {
  table: RowTable;
  where: PlannedCondition[];
  sort: PlannedSort[];
  items: RelatedItem[];
  own: Output;
  embeds: EmbedPlan[];
}

async function planScope(open: OpenRelated, scope: Scope): Promise<PlannedScope> {
  const plans = new Map<Embed, EmbedPlan>();
  for (const embed of scope.embeds) plans.set(embed, await planEmbed(open, embed));
  const exists = (embed: Embed, negated: boolean): PlannedCondition => {
    const plan = plans.get(embed) as EmbedPlan;
    return {
      kind: 'test',
      op: 'related',
      negated,
      column: plan.from,
      sql: (values) => existsSql(plan, values),
    };
  };
  const where: PlannedCondition[] = scope.embeds
    .filter(({ isInner }) => isInner)
    .map((embed) => exists(embed, false));
  for (const { condition, hops } of scope.where)
    where.push(await planWhere(open, scope, condition, hops, exists));
  const columns = new Map<string, CatalogueColumn>();
  for (const { column } of scope.sort) columns.set(column, await findColumn(open, scope, column.split('.')));
  const sort = planSort(scope.table, scope.sort, (name) => columns.get(name) ?? failUnknown(name));
  const items = withoutStar(scope.table, scope.select).flatMap(({ column, alias, embed }): RelatedItem[] => {
    if (!embed) return [{ key: alias, column: scope.table.byName.get(column) ?? failUnknown(column) }];
    const found = scope.embeds.find(({ key, isShown }) => key === alias && isShown);
    const plan = found && plans.get(found);
    return plan ? [{ key: alias, column: embeddedColumn(alias), embed: plan }] : [];
  });
  const table = scope.joins.length > 0 ? { ...scope.table, joins: scope.joins } : scope.table;
  const own = createOutput(items.filter(({ embed }) => !embed));
  return { table, where, sort, items, own, embeds: [...plans.values()] };
}

const embeddedColumn = (name: string): CatalogueColumn => ({
  name,
  physical: '',
  type: 'jsonb',
  nullable: true,
  default: null,
  role: 'plain',
});

async function planEmbed(open: OpenRelated, { key, relation, scope }: Embed): Promise<EmbedPlan> {
  const { kind, from, to } = relation;
  return { key, kind, from, to, limit: scope.limit, ...(await planScope(open, scope)) };
}

async function planWhere(
  open: OpenRelated,
  scope: Scope,
  condition: Condition,
  hops: readonly string[],
  exists: (embed: Embed, negated: boolean) => PlannedCondition,
  inGroup = false,
): Promise<PlannedCondition> {
  if (condition.kind !== 'test') {
    const parts: PlannedCondition[] = [];
    for (const part of condition.parts) parts.push(await planWhere(open, scope, part, hops, exists, true));
    return { kind: condition.kind, negated: condition.negated, parts };
  }
  const embed = scope.embeds.find(({ key }) => key === condition.column);
  if (embed && hops.length === 0 && !scope.table.byName.has(condition.column)) {
    const isNull = condition.op === 'is' && condition.operand === 'null';
    if (!isNull && !(condition.op === 'is' && condition.operand === 'not_null'))
      throw validationError(condition.column, 'related rows can only be compared by is.null and not.is.null');
    return exists(embed, isNull !== condition.negated);
  }
  const [first] = hops;
  // A parameter that leads nowhere is like every other unknown one.
  if (first !== undefined && !scope.embeds.some(({ key }) => key === first))
    if (!(await findRelation(open, scope.table, first)))
      throw unknownParameterError([...hops, condition.column].join('.'));
  const column = await findColumn(open, scope, [...hops, ...condition.column.split('.')]);
  return planCondition(() => column, condition, { inGroup });
}

async function findColumn(
  open: OpenRelated,
  scope: Scope,
  path: readonly string[],
): Promise<CatalogueColumn> {
  const label = path.join('.');
  const name = path.at(-1) ?? '';
  if (path.length > embedDepthMax + 1)
    throw validationError(label, `goes over more than ${embedDepthMax} tables`, 'too_deep');
  let inner: Scope | null = scope;
  let { table } = scope;
  let join: Join | null = null;
  for (const step of path.slice(0, -1)) {
    const embed: Embed | undefined = inner?.embeds.find(({ key }) => key === step);
    const relation: Relation | null = embed?.relation ?? (await findRelation(open, table, step));
    if (!relation) return failUnknown(label);
    if (relation.kind === 'many')
      throw validationError(
        label,
        embed
          ? `${step} stands for several rows: filter them by ${step}.${name}, and rows by !inner or ${step}=is.null`
          : `${step} stands for several rows: add ${step}(…) to select to filter them`,
      );
    join = joinTo(scope, join, relation);
    table = relation.other.table;
    inner = embed?.scope ?? null;
  }
  const column = table.byName.get(name) ?? failUnknown(label);
  return join ? joinedColumn(join, column, label) : column;
}

function joinTo(scope: Scope, before: Join | null, { from, to, other }: Relation): Join {
  const left = before ? joinedColumn(before, from, from.name) : from;
  const same = scope.joins.find((join) => join.from.physical === left.physical);
  if (same) return same;
  const join: Join = { alias: `r${scope.joins.length + 1}`, table: other.table, from: left, to };
  scope.joins.push(join);
  return join;
}
