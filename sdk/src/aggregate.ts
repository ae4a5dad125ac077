import type { AggregateFunction, DatePart } from '@svc/contract/rows.ts';
import { type AnyCondition, type Condition, inGroup } from './condition.ts';

type Column<Row> = keyof Row & string;

/** A column or the start of a period to group by, or a value of each group. */
export type AggregateItem<Row> =
  | Column<Row>
  | 'count()'
  | `${Column<Row>}.${AggregateFunction}()`
  | `${Column<Row>}.${DatePart}(${string})`;

export type AggregateSelect<Row> = Readonly<Record<string, AggregateItem<Row>>>;

export type Aggregated<Row, S> = { -readonly [Key in keyof S]: ItemValue<Row, S[Key]> };

type ItemValue<Row, Item> = Item extends keyof Row
  ? Row[Item]
  : Item extends 'count()'
    ? number
    : Item extends `${infer C}.${infer Name}(${string})`
      ? C extends keyof Row
        ? Computed<Row[C], Name>
        : never
      : never;

type Computed<T, Name> = Name extends 'count' | 'count_distinct'
  ? number
  : Name extends 'avg'
    ? number | null
    : Name extends DatePart
      ? string | Extract<T, null>
      : T | null;

export interface AggregateOptions<Row, S> {
  /** Result name → what it is: `{ status: 'status', n: 'count()', total: 'amount.sum()' }`. */
  select: S;
  /** Conditions on the results, all of which must hold. */
  having?: readonly Condition<Aggregated<Row, S>>[];
  sort?: readonly (Column<S> | `-${Column<S>}`)[];
  page?: number;
  /** At most 1,000 groups, which is the default. */
  perPage?: number;
  /** The `nextCursor` of the page before. */
  after?: string;
  signal?: AbortSignal;
}

export function aggregateParameters<Row, S extends AggregateSelect<Row>>({
  select,
  having = [],
  sort = [],
  page,
  perPage,
  after,
}: AggregateOptions<Row, S>): [string, string][] {
  const items = Object.entries(select).map(([key, item]) => (key === item ? key : `${key}:${item}`));
  const rest = { page, per_page: perPage, cursor: after };
  return [
    ['select', items.join(',')],
    ...having.map((condition): [string, string] => ['_having', inGroup(condition as AnyCondition)]),
    ...(sort.length === 0 ? [] : [['sort', sort.join(',')] as [string, string]]),
    ...Object.entries(rest).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  ];
}
