import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { isCode } from '../../../../api/query-client.ts';
import { type ColumnView, useTable } from '../use-table.ts';
import { type GridQuery, pageSearch } from './grid-query.ts';
import { fetchPage } from './rows-api.ts';

export function useRows(query: GridQuery, shown: readonly ColumnView[]) {
  const { path } = useTable();
  const queries = useQueryClient();
  const search = pageSearch(query, shown);
  const answer = useQuery({
    queryKey: ['rows.list', path, String(search)],
    queryFn: ({ signal }) => fetchPage(path, search, signal),
    placeholderData: keepPreviousData,
  });
  const isGone = isCode(answer.error, 'not_found');
  // Not the rows alone are out of reach: the page asks anew what of the app it may show.
  useEffect(() => {
    if (isGone) void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'rows.list' });
  }, [isGone, queries]);
  return answer;
}
