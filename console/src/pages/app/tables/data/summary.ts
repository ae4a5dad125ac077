import { describeColumnType } from '@svc/contract/columns.ts';
import { type AggregateFunction, aggregateItemsMax } from '@svc/contract/rows.ts';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useSearchParams } from 'wouter';
import { withUrlValue } from '../../../../components/url-state.ts';
import { useTable, type VisibleColumn } from '../use-table.ts';
import { formatCell, sqlNull } from './cell-value.ts';
import { type GridQuery, listSearch, whyNotFiltered } from './grid-query.ts';
import { functionLabels } from './grouping.ts';
import { fetchCount, fetchPage } from './rows-api.ts';

/** What the summary row has of each column. */
export type Summaries = ReadonlyMap<string, AggregateFunction>;

export const summaryLabels: Readonly<Record<AggregateFunction, string>> = {
  count: 'Filled',
  count_distinct: 'Different',
  ...functionLabels,
};

export function summaryChoices({ type, ref, mask }: VisibleColumn): readonly AggregateFunction[] {
  const { json, sql } = describeColumnType(type);
  if (mask || sql === 'jsonb') return ['count'];
  if (ref !== undefined) return ['count', 'count_distinct'];
  if (['number', 'integer', 'decimal'].includes(json))
    return ['sum', 'avg', 'min', 'max', 'count', 'count_distinct'];
  return type === 'date' || type === 'timestamptz'
    ? ['min', 'max', 'count', 'count_distinct']
    : ['count', 'count_distinct'];
}

/** `amount.sum,title.count`. Unknown items are ignored: the URL may be older than the schema. */
export function parseSummaries(text: string, columns: readonly VisibleColumn[]): Summaries {
  const summaries = new Map<string, AggregateFunction>();
  for (const item of text.split(',')) {
    const [name = '', word] = item.split('.');
    const column = columns.find((each) => each.name === name);
    const choice = column && summaryChoices(column).find((each) => each === word);
    if (choice && summaries.size < aggregateItemsMax) summaries.set(name, choice);
  }
  return summaries;
}

export const formatSummaries = (summaries: Summaries) =>
  Array.from(summaries, ([column, name]) => `${column}.${name}`).join(',');

/** Of the rows that the grid pages through. */
export function summarySearch(summaries: Summaries, query: GridQuery): URLSearchParams {
  const search = listSearch({ ...query, sort: [] }, null);
  const items = Array.from(summaries, ([column, name], at) => `s${at}:${column}.${name}()`);
  search.set('select', items.join(','));
  return search;
}

/** An average has the digits that a double is certain of. */
const averageDigits = 12;

export function summaryText(name: AggregateFunction, json: string | undefined): string {
  if (json === undefined || json === sqlNull) return '–';
  return name === 'avg' ? String(Number(Number(json).toPrecision(averageDigits))) : formatCell('text', json);
}

export interface SummaryRowState {
  summaries: Summaries;
  choose: (column: string, name: AggregateFunction | null) => void;
  /** By column; absent while they load. */
  texts: ReadonlyMap<string, string>;
  /** The number of rows, up to a cap. */
  count: number | undefined;
  /** Why only rows are counted. */
  why: string | null;
  error: Error | null;
}

const noTexts: ReadonlyMap<string, string> = new Map();

/** `columns` are all that the reader sees; those that the grid does not show keep their choice. */
export function useSummary(
  query: GridQuery,
  columns: readonly VisibleColumn[],
  visible: readonly VisibleColumn[],
): SummaryRowState {
  const { path } = useTable();
  const [params, setParams] = useSearchParams();
  const all = parseSummaries(params.get('summary') ?? '', columns);
  const summaries = new Map([...all].filter(([name]) => visible.some((column) => column.name === name)));
  const why = whyNotFiltered(query);
  const search = summarySearch(summaries, query);
  const answer = useQuery({
    queryKey: ['rows.aggregate', path, String(search)],
    queryFn: ({ signal }) => fetchPage(path, search, signal, 'aggregate'),
    enabled: summaries.size > 0 && why === null,
  });
  const filtered = listSearch({ ...query, sort: [] }, null);
  const count = useQuery({
    queryKey: ['rows.count', path, String(filtered)],
    queryFn: ({ signal }) => fetchCount(path, filtered, signal),
    placeholderData: keepPreviousData,
  });
  const row = why === null ? answer.data?.rows[0] : undefined;
  const texts = Array.from(
    summaries,
    ([column, name], at) => [column, summaryText(name, row?.get(`s${at}`))] as const,
  );
  return {
    summaries,
    choose(column, name) {
      const next = new Map(all);
      if (name === null) next.delete(column);
      else next.set(column, name);
      setParams((now) => withUrlValue(now, 'summary', formatSummaries(next)));
    },
    texts: row ? new Map(texts) : noTexts,
    count: count.data,
    why,
    error: answer.error,
  };
}
