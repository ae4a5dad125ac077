import type { CountMode } from './contract/rows.js';
import { type Aggregated, type AggregateOptions, type AggregateSelect } from './aggregate.js';
import { type AnyCondition, type Condition, type IsOperand, type Json, type Operand, type Operator } from './condition.js';
import { LiveRows } from './live.js';
import { type Filter } from './many-rows.js';
import type { Transport } from './transport.js';
export interface CallOptions {
    signal?: AbortSignal;
}
export interface CountOptions extends CallOptions {
    /** `exact` by default; `capped` stops at 10,000; `estimated` uses the database's statistics above that. */
    mode?: CountMode;
}
export interface LiveOptions<Row> extends CallOptions {
    filter?: Filter<Row>;
    /** Names of the rows as they are selected; the id is always the last key. */
    sort?: readonly (Column<Row> | `-${Column<Row>}`)[];
}
export interface Page<Row> {
    data: Row[];
    page: number;
    perPage: number;
    hasMore: boolean;
    nextCursor: string | null;
}
export interface TableTarget {
    transport: Transport;
    path: string;
}
interface QueryParams {
    select: readonly string[];
    where: readonly AnyCondition[];
    sort: readonly string[];
    distinct: readonly string[];
    page: number | null;
    perPage: number | null;
    cursor: string | null;
}
type Column<Row> = keyof Row & string;
type Selection<Row> = Column<Row> | Readonly<Record<string, Column<Row>>>;
type Selected<Row, S> = S extends keyof Row ? Pick<Row, S> : S extends Readonly<Record<string, keyof Row>> ? {
    [Alias in keyof S]: Row[S[Alias]];
} : never;
type Merged<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer I) => void ? {
    [K in keyof I]: I[K];
} : never;
/** Immutable: each method returns a new query. Conditions are combined with AND. */
export declare class Query<Row extends object, Out = Row> {
    #private;
    protected readonly place: TableTarget;
    constructor(place: TableTarget, asked?: QueryParams);
    select<const S extends readonly [Selection<Row>, ...Selection<Row>[]]>(...columns: S): Query<Row, Merged<Selected<Row, S[number]>>>;
    eq<C extends Column<Row>>(column: C, value: Operand<Row[C]>): Query<Row, Out>;
    neq<C extends Column<Row>>(column: C, value: Operand<Row[C]>): Query<Row, Out>;
    gt<C extends Column<Row>>(column: C, value: Operand<Row[C]>): Query<Row, Out>;
    gte<C extends Column<Row>>(column: C, value: Operand<Row[C]>): Query<Row, Out>;
    lt<C extends Column<Row>>(column: C, value: Operand<Row[C]>): Query<Row, Out>;
    lte<C extends Column<Row>>(column: C, value: Operand<Row[C]>): Query<Row, Out>;
    in<C extends Column<Row>>(column: C, values: readonly Operand<Row[C]>[]): Query<Row, Out>;
    between<C extends Column<Row>>(column: C, low: Operand<Row[C]>, high: Operand<Row[C]>): Query<Row, Out>;
    is(column: Column<Row>, value: IsOperand): Query<Row, Out>;
    /** `%` or `*` matches any text, `_` one character; `\` escapes. */
    like(column: Column<Row>, pattern: string): Query<Row, Out>;
    ilike(column: Column<Row>, pattern: string): Query<Row, Out>;
    startsWith(column: Column<Row>, text: string): Query<Row, Out>;
    endsWith(column: Column<Row>, text: string): Query<Row, Out>;
    contains(column: Column<Row>, text: string): Query<Row, Out>;
    istartsWith(column: Column<Row>, text: string): Query<Row, Out>;
    iendsWith(column: Column<Row>, text: string): Query<Row, Out>;
    icontains(column: Column<Row>, text: string): Query<Row, Out>;
    jsonContains(column: Column<Row>, value: Json): Query<Row, Out>;
    jsonContainedIn(column: Column<Row>, value: Json): Query<Row, Out>;
    /** Rows whose list has at least one of the items; `jsonContains` takes those that have all of them. */
    overlaps(column: Column<Row>, items: readonly (string | number)[]): Query<Row, Out>;
    hasKey(column: Column<Row>, key: string): Query<Row, Out>;
    not(condition: Condition<Row>): Query<Row, Out>;
    or(conditions: readonly Condition<Row>[]): Query<Row, Out>;
    and(conditions: readonly Condition<Row>[]): Query<Row, Out>;
    where<C extends Column<Row>>(column: C, op: Operator | `not.${Operator}`, value: unknown): Query<Row, Out>;
    /** `.sort('-created_at', 'title')`; the id is always the last key. */
    sort(...keys: (Column<Row> | `-${Column<Row>}`)[]): Query<Row, Out>;
    /** Only the first row, in the order of `sort`, of each combination of values. */
    distinct(...columns: Column<Row>[]): Query<Row, Out>;
    page(page: number): Query<Row, Out>;
    perPage(perPage: number): Query<Row, Out>;
    /** Continues after a page, even if rows before it were added or removed. */
    after(cursor: string): Query<Row, Out>;
    list(options?: CallOptions): Promise<Page<Out>>;
    first(options?: CallOptions): Promise<Out | null>;
    all(options?: CallOptions): AsyncGenerator<Out, void, undefined>;
    /** Streams every row from one snapshot; throws if the stream is truncated. */
    export(options?: CallOptions): AsyncGenerator<Out, void, undefined>;
    count({ mode, ...options }?: CountOptions): Promise<number>;
    /**
     * Groups the rows: `todos.eq('done', false).aggregate({ select: { list: 'list', n: 'count()' }, sort: ['-n'] })`.
     * A time is grouped by the start of its period: `created_at.month(Europe/Berlin)`.
     */
    aggregate<const S extends AggregateSelect<Row>>(options: AggregateOptions<Row, S>): Promise<Page<Aggregated<Row, S>>>;
    /**
     * The rows that match, kept up to date: `const live = todos.eq('done', false).sort('-created_at').live()`. All of them are in
     * memory, so a large table needs a filter. The table needs a change feed (`svc tables update … --changes true`).
     */
    live({ filter, sort, signal }?: LiveOptions<Row>): LiveRows<Out & object>;
}
export {};
