import { useSearchParams } from 'wouter';
import type { ColumnView } from '../use-table.ts';
import { type GridQuery, readGridQuery, writeGridQuery } from './grid-query.ts';

/** What the address says of the rows to show, and how to say something else: the back button leads to what was before. */
export function useGridQuery(
  columns: readonly ColumnView[],
): [GridQuery, (change: Partial<GridQuery>) => void] {
  const [search, setSearch] = useSearchParams();
  return [readGridQuery(search, columns), (change) => setSearch((now) => writeGridQuery(now, change))];
}
