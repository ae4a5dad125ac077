import { ProblemError } from '@svc/contract/client.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { tablePath } from '@svc/contract/row-path.ts';
import { listTables } from '@svc/contract/tables.ts';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useApp } from '../use-app.tsx';
import { findRelations, type Relation } from './data/relations.ts';
import { fetchVisibleColumns } from './data/rows-api.ts';
import { type ColumnView, type TableView, type VisibleColumn, withValueTypes } from './use-table.ts';

export interface ReadableTable {
  /** Without those that a policy hides from the reader, who may be an owner. */
  columns: readonly VisibleColumn[];
  relations: readonly Relation[];
}

/** All tables of the app. */
export function useTables({ enabled }: { enabled: boolean }): UseQueryResult<{ items: TableView[] }> {
  const { params } = useApp();
  return useEndpoint(listTables, { params, query: { page: 1, per_page: perPageMax } }, { enabled });
}

/** What the reader sees of a table and of those that it refers to; null while it loads. */
export function useReadableTable(table: TableView): ReadableTable | null {
  const { app, tenant } = useApp();
  const targets = [...new Set(table.columns.flatMap(({ ref }) => ref ?? []))];
  const tables = useTables({ enabled: targets.length > 0 });
  const names = [table.name, ...targets.filter((name) => name !== table.name)];
  const paths = names.map((name) => tablePath(tenant.slug, app.slug, name));
  const access = useQuery({
    queryKey: ['rows.access', ...paths],
    queryFn: ({ signal }) => Promise.all(paths.map((path) => fetchAccess(path, signal))),
    staleTime: 10_000,
  });
  if (access.isPending || (targets.length > 0 && tables.isPending)) return null;
  const seenOf = (name: string) => access.data?.[names.indexOf(name)];
  const own = seenOf(table.name);
  const columns = own && own.size > 0 ? visibleOf(table.columns, own) : table.columns;
  const readable = new Map<string, readonly VisibleColumn[]>();
  for (const target of tables.data?.items ?? []) {
    const seen = targets.includes(target.name) ? seenOf(target.name) : undefined;
    if (seen) readable.set(target.name, visibleOf(withValueTypes(target).columns, seen));
  }
  return { columns, relations: findRelations(columns, readable) };
}

/** A table that the reader may not read has no columns. */
async function fetchAccess(path: string, signal: AbortSignal): ReturnType<typeof fetchVisibleColumns> {
  try {
    return await fetchVisibleColumns(path, signal);
  } catch (error) {
    if (error instanceof ProblemError) return new Map();
    throw error;
  }
}

const visibleOf = (
  columns: readonly ColumnView[],
  seen: ReadonlyMap<string, { mask: string | null }>,
): VisibleColumn[] =>
  columns.flatMap((column) => {
    const access = seen.get(column.name);
    return access ? [{ ...column, mask: access.mask }] : [];
  });
