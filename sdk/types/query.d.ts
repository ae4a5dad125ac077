import type { CountMode } from './contract/rows.js';
import { type Aggregated, type AggregateOptions, type AggregateSelect } from './aggregate.js';
import { type AnyCondition, type Condition, type IsOperand, type Json, type Operand, type Operator } from './condition.js';
import { LiveRows } from './live.js';
import { type Filter } from './many-rows.js';
import { type Column, type RelatedColumn, type RelatedOptions, type Selected, type Selection } from './select.js';
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
    related: readonly [string, string][];
    search: string | null;
    page: number | null;
    perPage: number | null;
    cursor: string | null;
}
/** Immutable: each method returns a new query. Conditions are combined with AND. */
export declare class Query<Row extends object, Out = Row, Relations = unknown> {
    #private;
    protected readonly target: TableTarget;
    constructor(target: TableTarget, params?: QueryParams);
    select<const S extends readonly [Selection<Row>, ...Selection<Row>[]]>(...columns: S): Query<Row, Selected<Row, Relations, S[number]>, Relations>;
    /** The order and the number of rows that are selected by the name of a relation: `.related('comments', { limit: 5 })`. */
    related(name: string, options: RelatedOptions): Query<Row, Out, Relations>;
    eq<C extends Column<Row>>(column: C, value: Operand<Row[C]>): Query<Row, Out, Relations>;
    neq<C extends Column<Row>>(column: C, value: Operand<Row[C]>): Query<Row, Out, Relations>;
    gt<C extends Column<Row>>(column: C, value: Operand<Row[C]>): Query<Row, Out, Relations>;
    gte<C extends Column<Row>>(column: C, value: Operand<Row[C]>): Query<Row, Out, Relations>;
    lt<C extends Column<Row>>(column: C, value: Operand<Row[C]>): Query<Row, Out, Relations>;
    lte<C extends Column<Row>>(column: C, value: Operand<Row[C]>): Query<Row, Out, Relations>;
    in<C extends Column<Row>>(column: C, values: readonly Operand<Row[C]>[]): Query<Row, Out, Relations>;
    between<C extends Column<Row>>(column: C, low: Operand<Row[C]>, high: Operand<Row[C]>): Query<Row, Out, Relations>;
    is(column: Column<Row>, value: IsOperand): Query<Row, Out, Relations>;
    /** `%` or `*` matches any text, `_` one character; `\` escapes. */
    like(column: Column<Row>, pattern: string): Query<Row, Out, Relations>;
    ilike(column: Column<Row>, pattern: string): Query<Row, Out, Relations>;
    startsWith(column: Column<Row>, text: string): Query<Row, Out, Relations>;
    endsWith(column: Column<Row>, text: string): Query<Row, Out, Relations>;
    contains(column: Column<Row>, text: string): Query<Row, Out, Relations>;
    istartsWith(column: Column<Row>, text: string): Query<Row, Out, Relations>;
    iendsWith(column: Column<Row>, text: string): Query<Row, Out, Relations>;
    icontains(column: Column<Row>, text: string): Query<Row, Out, Relations>;
    jsonContains(column: Column<Row>, value: Json): Query<Row, Out, Relations>;
    jsonContainedIn(column: Column<Row>, value: Json): Query<Row, Out, Relations>;
    /** Rows whose list has at least one of the items; `jsonContains` takes those that have all of them. */
    overlaps(column: Column<Row>, items: readonly (string | number)[]): Query<Row, Out, Relations>;
    hasKey(column: Column<Row>, key: string): Query<Row, Out, Relations>;
    not(condition: Condition<Row>): Query<Row, Out, Relations>;
    or(conditions: readonly Condition<Row>[]): Query<Row, Out, Relations>;
    and(conditions: readonly Condition<Row>[]): Query<Row, Out, Relations>;
    /** Accepts columns of related rows too: `.where('author.name', 'eq', 'Ada')`. */
    where<C extends Column<Row> | RelatedColumn>(column: C, op: Operator | `not.${Operator}`, value: unknown): Query<Row, Out, Relations>;
    /** `.sort('-created_at', 'title')`; the id is always the last key. */
    sort(...keys: (Column<Row> | `-${Column<Row>}` | RelatedColumn)[]): Query<Row, Out, Relations>;
    /** Only the first row, in the order of `sort`, of each combination of values. */
    distinct(...columns: Column<Row>[]): Query<Row, Out, Relations>;
    /**
     * Rows with all of the words, in the columns of the table's search index: `tea pot`, `"tea pot"` as a phrase, `-green` without
     * it, `tea or coffee`. Without `sort` the best matches come first. `_snippet` is HTML: the escaped text with `<mark>`.
     */
    search(text: string): Query<Row, Out & {
        _snippet: string;
    }, Relations>;
    page(page: number): Query<Row, Out, Relations>;
    perPage(perPage: number): Query<Row, Out, Relations>;
    /** Continues after a page, even if rows before it were added or removed. */
    after(cursor: string): Query<Row, Out, Relations>;
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
