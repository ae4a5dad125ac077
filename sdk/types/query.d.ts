import type { CountMode } from './contract/rows.js';
import { type Aggregated, type AggregateOptions, type AggregateSelect } from './aggregate.js';
import { type AnyCondition, type Condition, type IsOperand, type Json, type Operand, type Operator, type Value } from './condition.js';
import { LiveRows } from './live.js';
import { type Filter } from './many-rows.js';
import { type Checked, type Column, type Field, type FieldName, type Fields, type FieldValue, type ManyName, type RelatedOptions, type RelatedSortKey, type RelationName, type Selected, type Selections, type SortKey, type WithSelected } from './select.js';
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
type OperandOf<Row, Relations, C> = Operand<FieldValue<Row, Relations, C>>;
type RowCondition<Row, Relations> = Condition<Fields<Row, Relations>, RelationName<Relations>>;
/** Immutable: each method returns a new query. Conditions are combined with AND. */
export declare class Query<Row extends object, Out = Row, Relations = unknown> {
    #private;
    protected readonly target: TableTarget;
    constructor(target: TableTarget, params?: QueryParams);
    select<const S extends Selections<Row>>(...columns: S & Checked<Row, Relations, S>): Query<Row, Selected<Row, Relations, S[number]>, WithSelected<Relations, S[number]>>;
    /** The order and the number of the rows that `select` has under a name: `.related('comments', { limit: 5 })`. */
    related<Name extends ManyName<Relations>>(name: Name, options: RelatedOptions<RelatedSortKey<Relations, Name>>): Query<Row, Out, Relations>;
    eq<C extends FieldName<Row, Relations>>(column: C, value: OperandOf<Row, Relations, C>): Query<Row, Out, Relations>;
    neq<C extends FieldName<Row, Relations>>(column: C, value: OperandOf<Row, Relations, C>): Query<Row, Out, Relations>;
    gt<C extends FieldName<Row, Relations>>(column: C, value: OperandOf<Row, Relations, C>): Query<Row, Out, Relations>;
    gte<C extends FieldName<Row, Relations>>(column: C, value: OperandOf<Row, Relations, C>): Query<Row, Out, Relations>;
    lt<C extends FieldName<Row, Relations>>(column: C, value: OperandOf<Row, Relations, C>): Query<Row, Out, Relations>;
    lte<C extends FieldName<Row, Relations>>(column: C, value: OperandOf<Row, Relations, C>): Query<Row, Out, Relations>;
    in<C extends FieldName<Row, Relations>>(column: C, values: readonly OperandOf<Row, Relations, C>[]): Query<Row, Out, Relations>;
    between<C extends FieldName<Row, Relations>>(column: C, low: OperandOf<Row, Relations, C>, high: OperandOf<Row, Relations, C>): Query<Row, Out, Relations>;
    /** Of a relation that is selected: whether there are such rows, as `.is('comments', null)`. */
    is<C extends FieldName<Row, Relations> | RelationName<Relations>>(column: C extends RelationName<Relations> ? C : Field<Row, Relations, C>, value: C extends RelationName<Relations> ? null | 'not_null' : IsOperand): Query<Row, Out, Relations>;
    /** `%` or `*` matches any text, `_` one character; `\` escapes. */
    like<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, pattern: string): Query<Row, Out, Relations>;
    ilike<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, pattern: string): Query<Row, Out, Relations>;
    startsWith<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, text: string): Query<Row, Out, Relations>;
    endsWith<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, text: string): Query<Row, Out, Relations>;
    contains<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, text: string): Query<Row, Out, Relations>;
    istartsWith<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, text: string): Query<Row, Out, Relations>;
    iendsWith<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, text: string): Query<Row, Out, Relations>;
    icontains<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, text: string): Query<Row, Out, Relations>;
    jsonContains<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, value: Json): Query<Row, Out, Relations>;
    jsonContainedIn<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, value: Json): Query<Row, Out, Relations>;
    /** Rows whose list has at least one of the items; `jsonContains` takes those that have all of them. */
    overlaps<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, items: readonly (string | number)[]): Query<Row, Out, Relations>;
    hasKey<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, key: string): Query<Row, Out, Relations>;
    not(condition: RowCondition<Row, Relations>): Query<Row, Out, Relations>;
    or(conditions: readonly RowCondition<Row, Relations>[]): Query<Row, Out, Relations>;
    and(conditions: readonly RowCondition<Row, Relations>[]): Query<Row, Out, Relations>;
    /** The operator as an argument: `.where('author.name', 'not.in', ['Ada'])`. */
    where<C extends FieldName<Row, Relations>, Op extends Operator>(column: Field<Row, Relations, C>, op: Op | `not.${Op}`, value: unknown extends FieldValue<Row, Relations, C> ? unknown : Value<FieldValue<Row, Relations, C>, Op>): Query<Row, Out, Relations>;
    /** `.sort('-created_at', 'title')`; the id is always the last key. */
    sort(...keys: SortKey<Row, Relations>[]): Query<Row, Out, Relations>;
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
