import type { CountMode } from '@svc/contract/rows.ts';
import {
  type Aggregated,
  type AggregateOptions,
  type AggregateSelect,
  aggregateParameters,
} from './aggregate.ts';
import {
  type AnyCondition,
  type Condition,
  type IsOperand,
  type Json,
  type Operand,
  type Operator,
  toParameter,
  type Value,
} from './condition.ts';
import { SvcNetworkError } from './errors.ts';
import { readJsonLines } from './json-lines.ts';
import { LiveRows } from './live.ts';
import { conditionsOf, type Filter } from './many-rows.ts';
import { readJson } from './read-json.ts';
import {
  type Checked,
  type Column,
  type Field,
  type FieldName,
  type Fields,
  type FieldValue,
  type ManyName,
  type RelatedOptions,
  type RelatedSortKey,
  type RelationName,
  relatedParameters,
  type Selected,
  type Selections,
  type SortKey,
  selectItems,
  type WithSelected,
} from './select.ts';
import type { Call, Transport } from './transport.ts';

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

const emptyParams: QueryParams = {
  select: [],
  where: [],
  sort: [],
  distinct: [],
  related: [],
  search: null,
  page: null,
  perPage: null,
  cursor: null,
};
const perPageMax = 200;

type OperandOf<Row, Relations, C> = Operand<FieldValue<Row, Relations, C>>;
type RowCondition<Row, Relations> = Condition<Fields<Row, Relations>, RelationName<Relations>>;

/** Immutable: each method returns a new query. Conditions are combined with AND. */
export class Query<Row extends object, Out = Row, Relations = unknown> {
  protected readonly target: TableTarget;
  readonly #params: QueryParams;

  constructor(target: TableTarget, params: QueryParams = emptyParams) {
    this.target = target;
    this.#params = params;
  }

  select<const S extends Selections<Row>>(
    ...columns: S & Checked<Row, Relations, S>
  ): Query<Row, Selected<Row, Relations, S[number]>, WithSelected<Relations, S[number]>> {
    return new Query(this.target, { ...this.#params, select: selectItems(columns) });
  }
  /** The order and the number of the rows that `select` has under a name: `.related('comments', { limit: 5 })`. */
  related<Name extends ManyName<Relations>>(
    name: Name,
    options: RelatedOptions<RelatedSortKey<Relations, Name>>,
  ): Query<Row, Out, Relations> {
    const related = [...this.#params.related, ...relatedParameters(name, options)];
    return new Query(this.target, { ...this.#params, related });
  }

  eq<C extends FieldName<Row, Relations>>(column: C, value: OperandOf<Row, Relations, C>) {
    return this.#and([column, 'eq', value]);
  }
  neq<C extends FieldName<Row, Relations>>(column: C, value: OperandOf<Row, Relations, C>) {
    return this.#and([column, 'neq', value]);
  }
  gt<C extends FieldName<Row, Relations>>(column: C, value: OperandOf<Row, Relations, C>) {
    return this.#and([column, 'gt', value]);
  }
  gte<C extends FieldName<Row, Relations>>(column: C, value: OperandOf<Row, Relations, C>) {
    return this.#and([column, 'gte', value]);
  }
  lt<C extends FieldName<Row, Relations>>(column: C, value: OperandOf<Row, Relations, C>) {
    return this.#and([column, 'lt', value]);
  }
  lte<C extends FieldName<Row, Relations>>(column: C, value: OperandOf<Row, Relations, C>) {
    return this.#and([column, 'lte', value]);
  }
  in<C extends FieldName<Row, Relations>>(column: C, values: readonly OperandOf<Row, Relations, C>[]) {
    return this.#and([column, 'in', values]);
  }
  between<C extends FieldName<Row, Relations>>(
    column: C,
    low: OperandOf<Row, Relations, C>,
    high: OperandOf<Row, Relations, C>,
  ) {
    return this.#and([column, 'between', [low, high]]);
  }
  /** Of a relation that is selected: whether there are such rows, as `.is('comments', null)`. */
  is<C extends FieldName<Row, Relations> | RelationName<Relations>>(
    column: C extends RelationName<Relations> ? C : Field<Row, Relations, C>,
    value: C extends RelationName<Relations> ? null | 'not_null' : IsOperand,
  ) {
    return this.#and([column, 'is', value]);
  }

  /** `%` or `*` matches any text, `_` one character; `\` escapes. */
  like<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, pattern: string) {
    return this.#and([column, 'like', pattern]);
  }
  ilike<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, pattern: string) {
    return this.#and([column, 'ilike', pattern]);
  }
  startsWith<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, text: string) {
    return this.#and([column, 'sw', text]);
  }
  endsWith<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, text: string) {
    return this.#and([column, 'ew', text]);
  }
  contains<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, text: string) {
    return this.#and([column, 'has', text]);
  }
  istartsWith<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, text: string) {
    return this.#and([column, 'isw', text]);
  }
  iendsWith<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, text: string) {
    return this.#and([column, 'iew', text]);
  }
  icontains<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, text: string) {
    return this.#and([column, 'ihas', text]);
  }

  jsonContains<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, value: Json) {
    return this.#and([column, 'cs', value]);
  }
  jsonContainedIn<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, value: Json) {
    return this.#and([column, 'cd', value]);
  }
  /** Rows whose list has at least one of the items; `jsonContains` takes those that have all of them. */
  overlaps<C extends FieldName<Row, Relations>>(
    column: Field<Row, Relations, C>,
    items: readonly (string | number)[],
  ) {
    return this.#and([column, 'ov', items]);
  }
  hasKey<C extends FieldName<Row, Relations>>(column: Field<Row, Relations, C>, key: string) {
    return this.#and([column, 'hk', key]);
  }

  not(condition: RowCondition<Row, Relations>) {
    return this.#and({ not: condition as AnyCondition });
  }
  or(conditions: readonly RowCondition<Row, Relations>[]) {
    return this.#and({ or: conditions as readonly AnyCondition[] });
  }
  and(conditions: readonly RowCondition<Row, Relations>[]) {
    return this.#and({ and: conditions as readonly AnyCondition[] });
  }
  /** The operator as an argument: `.where('author.name', 'not.in', ['Ada'])`. */
  where<C extends FieldName<Row, Relations>, Op extends Operator>(
    column: Field<Row, Relations, C>,
    op: Op | `not.${Op}`,
    value: unknown extends FieldValue<Row, Relations, C> ? unknown : Value<FieldValue<Row, Relations, C>, Op>,
  ) {
    return this.#and([column, op, value]);
  }

  /** `.sort('-created_at', 'title')`; the id is always the last key. */
  sort(...keys: SortKey<Row, Relations>[]): Query<Row, Out, Relations> {
    return new Query(this.target, { ...this.#params, sort: keys });
  }
  /** Only the first row, in the order of `sort`, of each combination of values. */
  distinct(...columns: Column<Row>[]): Query<Row, Out, Relations> {
    return new Query(this.target, { ...this.#params, distinct: columns });
  }
  /**
   * Rows with all of the words, in the columns of the table's search index: `tea pot`, `"tea pot"` as a phrase, `-green` without
   * it, `tea or coffee`. Without `sort` the best matches come first. `_snippet` is HTML: the escaped text with `<mark>`.
   */
  search(text: string): Query<Row, Out & { _snippet: string }, Relations> {
    return new Query(this.target, { ...this.#params, search: text });
  }
  page(page: number): Query<Row, Out, Relations> {
    return new Query(this.target, { ...this.#params, page, cursor: null });
  }
  perPage(perPage: number): Query<Row, Out, Relations> {
    return new Query(this.target, { ...this.#params, perPage });
  }
  /** Continues after a page, even if rows before it were added or removed. */
  after(cursor: string): Query<Row, Out, Relations> {
    return new Query(this.target, { ...this.#params, cursor, page: null });
  }

  async list(options: CallOptions = {}): Promise<Page<Out>> {
    return toPage(await this.#get<ListAnswer<Out>>('', [...this.#filters(), ...this.#window()], options));
  }

  async first(options: CallOptions = {}): Promise<Out | null> {
    return (await this.perPage(1).list(options)).data[0] ?? null;
  }

  async *all(options: CallOptions = {}): AsyncGenerator<Out, void, undefined> {
    let query = this.#params.perPage === null ? this.perPage(perPageMax) : this;
    for (;;) {
      const { data, nextCursor } = await query.list(options);
      yield* data;
      if (nextCursor === null) return;
      query = query.after(nextCursor);
    }
  }

  /** Streams every row from one snapshot; throws if the stream is truncated. */
  async *export(options: CallOptions = {}): AsyncGenerator<Out, void, undefined> {
    const { page, perPage, cursor } = this.#params;
    if (page !== null || perPage !== null || cursor !== null)
      throw new TypeError('An export cannot be paginated.');
    const { body, release } = await this.target.transport.exchange(
      {
        ...this.#call('', this.#filters(), options),
        headers: { accept: 'application/x-ndjson' },
        isStream: true,
      },
      async (response, release) => {
        if (!response.body) throw new SvcNetworkError('The response has no body.');
        return { body: response.body, release };
      },
    );
    try {
      yield* readJsonLines<Out>(body);
    } finally {
      release();
    }
  }

  async count({ mode, ...options }: CountOptions = {}): Promise<number> {
    const { select, where } = this.#params;
    const query: [string, string][] = [...where.map(toParameter), ...this.#distinct(), ...this.#search()];
    // Related rows may decide which rows there are.
    if (select.some((item) => item.includes('('))) query.push(['select', select.join(',')]);
    if (mode !== undefined) query.push(['count', mode]);
    return (await this.#get<{ count: number }>('/_count', query, options)).count;
  }

  /**
   * Groups the rows: `todos.eq('done', false).aggregate({ select: { list: 'list', n: 'count()' }, sort: ['-n'] })`.
   * A time is grouped by the start of its period: `created_at.month(Europe/Berlin)`.
   */
  async aggregate<const S extends AggregateSelect<Row>>(
    options: AggregateOptions<Row, S>,
  ): Promise<Page<Aggregated<Row, S>>> {
    const query = [
      ...this.#params.where.map(toParameter),
      ...this.#search(),
      ...aggregateParameters(options),
    ];
    return toPage(await this.#get<ListAnswer<Aggregated<Row, S>>>('/_aggregate', query, options));
  }

  /**
   * The rows that match, kept up to date: `const live = todos.eq('done', false).sort('-created_at').live()`. All of them are in
   * memory, so a large table needs a filter. The table needs a change feed (`svc tables update … --changes true`).
   */
  live({ filter, sort, signal }: LiveOptions<Row> = {}): LiveRows<Out & object> {
    const { select, where, distinct, page, perPage, cursor } = this.#params;
    if (page !== null || perPage !== null || cursor !== null || distinct.length > 0)
      throw new TypeError('Live rows have no pages and no distinct.');
    const all = [...where, ...(filter === undefined ? [] : conditionsOf(filter as AnyCondition))];
    const query = all.map(toParameter);
    if (select.length > 0) query.push(['select', select.join(',')]);
    const idItem = select.find((item) => item === 'id' || item.endsWith(':id')) ?? 'id';
    return new LiveRows({
      target: this.target,
      query,
      sort: sort ?? this.#params.sort,
      idKey: idItem.split(':')[0] ?? 'id',
      signal,
    });
  }

  #and(condition: AnyCondition): Query<Row, Out, Relations> {
    return new Query(this.target, { ...this.#params, where: [...this.#params.where, condition] });
  }

  #filters(): [string, string][] {
    const { select, where, sort } = this.#params;
    const query = where.map(toParameter);
    if (select.length > 0) query.push(['select', select.join(',')]);
    if (sort.length > 0) query.push(['sort', sort.join(',')]);
    return [...query, ...this.#params.related, ...this.#distinct(), ...this.#search()];
  }

  #distinct(): [string, string][] {
    const { distinct } = this.#params;
    return distinct.length === 0 ? [] : [['_distinct', distinct.join(',')]];
  }

  #search(): [string, string][] {
    const { search } = this.#params;
    return search === null ? [] : [['_search', search]];
  }

  #window(): [string, string][] {
    const { page, perPage, cursor } = this.#params;
    const paging = { page, per_page: perPage, cursor };
    return Object.entries(paging).flatMap(([name, value]) => (value === null ? [] : [[name, String(value)]]));
  }

  #call(path: string, query: Call['query'], { signal }: CallOptions): Call {
    return { method: 'GET', path: this.target.path + path, query: query ?? [], onFault: 'repeat', signal };
  }

  #get<T>(path: string, query: Call['query'], options: CallOptions): Promise<T> {
    return this.target.transport.exchange(this.#call(path, query, options), readJson<T>);
  }
}

function toPage<Row>(answer: ListAnswer<Row>): Page<Row> {
  const { data, page, per_page: perPage, has_more: hasMore, next_cursor: nextCursor } = answer;
  return { data, page, perPage, hasMore, nextCursor };
}

interface ListAnswer<Row> {
  data: Row[];
  page: number;
  per_page: number;
  has_more: boolean;
  next_cursor: string | null;
}
