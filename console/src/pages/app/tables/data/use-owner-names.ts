import type { RawRow } from '@svc/contract/json.ts';
import { tablePath } from '@svc/contract/row-path.ts';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTable } from '../use-table.ts';
import { formatCell, parseCell, sqlNull } from './cell-value.ts';
import { fetchNames } from './rows-api.ts';

const noNames: ReadonlyMap<string, string> = new Map();

/** The names of the people in the owner column. */
export function useOwnerNames(rows: readonly RawRow[]): ReadonlyMap<string, string> {
  const { table, tenant, app } = useTable();
  const { owner_column: owner } = table;
  const values = owner === null ? [] : rows.map((row) => formatCell('text', row.get(owner) ?? sqlNull));
  const ids = [...new Set(values.filter((id) => parseCell('uuid', id).ok))].sort();
  const path = tablePath(tenant.slug, app.slug, '_people');
  const answer = useQuery({
    queryKey: ['people', path, ...ids],
    queryFn: ({ signal }) => fetchNames(path, ids, signal),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
  return answer.data ?? noNames;
}
