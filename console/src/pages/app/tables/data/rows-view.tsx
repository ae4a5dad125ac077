import { Alert, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react';
import { isCode } from '../../../../api/client.ts';
import { ActionButton } from '../../../../components/buttons.tsx';
import { EmptyState } from '../../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../../components/problem-alert.tsx';
import { Loading } from '../../../../components/query-view.tsx';
import { Hint } from '../../../../components/text.tsx';
import { useUrlDialog } from '../../../../components/url-state.ts';
import { type ReadableTable, useReadableTable } from '../use-readable-table.ts';
import { useTable, type VisibleColumn } from '../use-table.ts';
import { DataGrid } from './data-grid.tsx';
import { DataTools, FilterBar } from './data-tools.tsx';
import { addChange, useEdits } from './edits.ts';
import { type GridQuery, pageSearch, perPageChoices, useGridQuery, visibleColumns } from './grid-query.ts';
import { GroupTools, GroupView } from './group-view.tsx';
import { useGrouping } from './grouping.ts';
import { fetchLabelled, type Relation, relatedColumns } from './relations.ts';
import { ChangeBar } from './review-dialog.tsx';
import { fetchRow, type VersionedRow } from './rows-api.ts';
import { useSummary } from './summary.ts';
import { useOwnerNames } from './use-owner-names.ts';

const RowDetails = lazy(async () => ({ default: (await import('./row-details.tsx')).RowDetails }));

export function RowsView() {
  const readable = useReadableTable(useTable().table);
  return readable ? <Rows {...readable} /> : <Loading lines={8} />;
}

function Rows({ columns, relations }: ReadableTable) {
  const { table, path } = useTable();
  const queries = useQueryClient();
  const [query, setQuery] = useGridQuery([...columns, ...relatedColumns(relations)]);
  const visible = visibleColumns(columns, query);
  // A search cannot be combined with columns of related rows.
  const sortable = query.search === '' ? relations : [];
  const filterable = [...columns, ...relatedColumns(sortable)];
  const answer = useRows(query, visible, relations);
  const summary = useSummary(query, columns, visible);
  const details = useUrlDialog('row');
  const [edits, setEdits] = useEdits(table.id);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [problem, setProblem] = useState<unknown>(null);
  const read = useRef(new Map<string, VersionedRow>());
  const refresh = useCallback(
    () =>
      void queries.invalidateQueries({
        predicate: ({ queryKey }) => String(queryKey[0]).startsWith('rows.'),
      }),
    [queries],
  );

  // A change applies to the row as read here, so that a change of somebody else is not overwritten.
  const open = useCallback(
    async (id: string) => {
      setProblem(null);
      if (edits.has(id)) return true;
      try {
        read.current.set(id, await fetchRow(path, id));
        return true;
      } catch (error) {
        setProblem(error);
        refresh();
        return false;
      }
    },
    [path, edits, refresh],
  );
  const apply = useCallback(
    (id: string, column: string, json: string) => {
      const row = read.current.get(id);
      setEdits((now) => {
        const edit = now.get(id);
        const base = edit ? { row: edit.base, etag: edit.etag } : row;
        return base ? addChange(now, id, base, column, json) : now;
      });
    },
    [setEdits],
  );

  const [grouping, setGrouping] = useGrouping(columns);
  const rows = answer.data?.rows ?? [];
  const names = useOwnerNames(rows);
  const isFiltered = query.filters.length > 0 || query.search !== '';
  return (
    <Stack gap="sm">
      <DataTools
        columns={filterable}
        query={query}
        setQuery={setQuery}
        selected={selected}
        onDeleted={(ids) => {
          setSelected((now) => new Set([...now].filter((id) => !ids.includes(id))));
          setEdits((now) => new Map([...now].filter(([id]) => !ids.includes(id))));
          refresh();
        }}
        onStored={refresh}
        rows={rows}
      />
      <FilterBar columns={filterable} path={path} query={query} setQuery={setQuery} />
      <GroupTools grouping={grouping} setGrouping={setGrouping} />
      <ProblemAlert error={problem} />
      {answer.data?.note && (
        <Alert color="yellow" role="status">
          {answer.data.note}
        </Alert>
      )}
      {grouping && <GroupView grouping={grouping} query={query} />}
      {answer.isError && <ProblemAlert error={answer.error} retry={() => void answer.refetch()} />}
      {answer.data === undefined && !answer.isError && <Loading lines={8} />}
      {answer.data && !answer.isError && rows.length === 0 && (
        <NoRows isFiltered={isFiltered} isLater={query.cursor !== null} />
      )}
      {answer.data && rows.length > 0 && !grouping && (
        <>
          <ProblemAlert error={summary.error} />
          <DataGrid
            label={`Rows of ${table.name}`}
            columns={visible}
            rows={rows}
            names={names}
            labels={answer.data.labels}
            relations={sortable}
            summary={summary}
            edits={edits}
            sort={query.sort}
            onSort={(sort) => setQuery({ sort })}
            selected={selected}
            onSelect={setSelected}
            onOpen={open}
            onApply={apply}
          />
          <Hint>
            Enter, F2 or a double click opens a cell; Enter on an id opens the row; arrow keys move between
            cells; Space selects a row.
            {visible.length < columns.length &&
              ` ${visible.length} of ${columns.length} columns are visible.`}
            {columns.length < table.columns.length &&
              ` A policy hides ${listNames(table.columns.filter(({ name }) => !columns.some((seen) => seen.name === name)))}.`}
          </Hint>
        </>
      )}
      {answer.data && !grouping && (
        <CursorPager
          query={query}
          setQuery={setQuery}
          nextCursor={answer.isPlaceholderData ? null : answer.data.nextCursor}
          rows={rows.length}
        />
      )}
      {details.value !== null && (
        <Suspense>
          <RowDetails
            key={details.value}
            id={details.value}
            columns={columns}
            relations={relations}
            onClose={details.close}
          />
        </Suspense>
      )}
      <ChangeBar edits={edits} setEdits={setEdits} onSaved={refresh} />
    </Stack>
  );
}

const listNames = (columns: readonly { name: string }[]) => columns.map(({ name }) => name).join(', ');

function NoRows({ isFiltered, isLater }: { isFiltered: boolean; isLater: boolean }) {
  const { table, app } = useTable();
  if (isFiltered || isLater) {
    return (
      <EmptyState title={isLater ? 'No more rows' : 'No row matches'}>
        {isLater
          ? 'The rows on this page were deleted.'
          : 'Change or remove the search or the filter to see other rows.'}
      </EmptyState>
    );
  }
  return (
    <EmptyState
      title="No rows yet"
      command={`svc rows import ${table.name} --app ${app.slug} --from-file rows.csv --execute`}
    >
      Insert one, import a CSV or JSON lines file, or write rows with the data API.
    </EmptyState>
  );
}

const isFirstPage = 'This is the first page.';
const unknownPrevious = 'The previous page is unknown because you opened a link. Start at the first page.';

export function CursorPager({
  query,
  setQuery,
  nextCursor,
  rows,
}: {
  query: GridQuery;
  setQuery: (change: Partial<GridQuery>) => void;
  nextCursor: string | null;
  rows: number;
}) {
  // The cursor before each visited page, since the row API has no cursor backwards.
  const [before, setBefore] = useState<ReadonlyMap<string, string | null>>(new Map());
  const isFirst = query.cursor === null;
  const previous = query.cursor === null ? undefined : before.get(query.cursor);
  return (
    <Group justify="space-between" gap="sm">
      <Group gap="xs">
        <ActionButton why={isFirst ? isFirstPage : null} onClick={() => setQuery({ cursor: null })}>
          First page
        </ActionButton>
        <ActionButton
          why={previous === undefined ? (isFirst ? isFirstPage : unknownPrevious) : null}
          onClick={() => setQuery({ cursor: previous ?? null })}
        >
          Previous
        </ActionButton>
        <ActionButton
          why={nextCursor === null ? 'This is the last page.' : null}
          onClick={() => {
            if (nextCursor === null) return;
            setBefore(new Map(before).set(nextCursor, query.cursor));
            setQuery({ cursor: nextCursor });
          }}
        >
          Next
        </ActionButton>
        <Text size="sm" role="status">
          {rows === 1 ? '1 row' : `${rows} rows`} on this page
        </Text>
      </Group>
      <NativeSelect
        aria-label="Rows per page"
        size="sm"
        data={perPageChoices.map((count) => ({ value: String(count), label: `${count} per page` }))}
        value={String(query.perPage)}
        onChange={(event) => setQuery({ perPage: Number(event.currentTarget.value) })}
      />
    </Group>
  );
}

function useRows(query: GridQuery, visible: readonly VisibleColumn[], relations: readonly Relation[]) {
  const { path } = useTable();
  const queries = useQueryClient();
  const search = pageSearch(query, visible);
  const labelled = relations.filter(({ column }) => visible.some(({ name }) => name === column));
  const labels = labelled.map(({ column, label }) => `${column}.${label}`);
  const answer = useQuery({
    queryKey: ['rows.list', path, String(search), ...labels],
    queryFn: ({ signal }) => fetchLabelled(path, search, labelled, signal),
    placeholderData: keepPreviousData,
  });
  const isGone = isCode(answer.error, 'not_found');
  useEffect(() => {
    if (isGone) void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'rows.list' });
  }, [isGone, queries]);
  return answer;
}
