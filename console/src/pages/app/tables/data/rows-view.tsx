import { Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useRef, useState } from 'react';
import { Placeholder } from '../../../../parts/answer-view.tsx';
import { ProblemAlert } from '../../../../parts/problem-alert.tsx';
import { useTable } from '../use-table.ts';
import { ChangeBar } from './change-bar.tsx';
import { DataGrid } from './data-grid.tsx';
import { DataTools } from './data-tools.tsx';
import { withChange } from './edits.ts';
import { FilterBar } from './filter-bar.tsx';
import { shownColumns } from './grid-query.ts';
import { NoRows } from './no-rows.tsx';
import { Pager } from './pager.tsx';
import { fetchRow, type ReadRow } from './rows-api.ts';
import { useEdits } from './use-edits.ts';
import { useGridQuery } from './use-grid-query.ts';
import { useRows } from './use-rows.ts';

/** The rows of a table: filter, sort, edit, insert, delete, import, export. */
export function RowsView() {
  const { table, path } = useTable();
  const queries = useQueryClient();
  const [query, setQuery] = useGridQuery(table.columns);
  const shown = shownColumns(table.columns, query);
  const answer = useRows(query, shown);
  const [edits, setEdits] = useEdits(table.id);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [problem, setProblem] = useState<unknown>(null);
  const read = useRef(new Map<string, ReadRow>());
  const refresh = useCallback(
    () => queries.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith('rows.') }),
    [queries],
  );

  // What is read right before is what the change is held against: who changed the row meanwhile is not overwritten.
  const open = useCallback(
    async (id: string) => {
      setProblem(null);
      if (edits.has(id)) return true;
      try {
        read.current.set(id, await fetchRow(path, id));
        return true;
      } catch (error) {
        setProblem(error);
        void refresh();
        return false;
      }
    },
    [path, edits, refresh],
  );
  const keep = useCallback(
    (id: string, column: string, json: string) => {
      const row = read.current.get(id);
      setEdits((now) => {
        const edit = now.get(id);
        const base = edit ? { row: edit.base, etag: edit.etag } : row;
        return base ? withChange(now, id, base, column, json) : now;
      });
    },
    [setEdits],
  );

  const rows = answer.data?.rows ?? [];
  const isFiltered = query.filters.length > 0;
  return (
    <Stack gap="sm">
      <DataTools
        query={query}
        setQuery={setQuery}
        selected={selected}
        onDeleted={(ids) => {
          setSelected((now) => new Set([...now].filter((id) => !ids.includes(id))));
          setEdits((now) => new Map([...now].filter(([id]) => !ids.includes(id))));
          void refresh();
        }}
        onStored={() => void refresh()}
        rows={rows}
      />
      <FilterBar query={query} setQuery={setQuery} />
      {problem !== null && <ProblemAlert error={problem} />}
      {answer.isError && <ProblemAlert error={answer.error} retry={() => void answer.refetch()} />}
      {answer.data === undefined && !answer.isError && <Placeholder lines={8} />}
      {answer.data && !answer.isError && rows.length === 0 && (
        <NoRows isFiltered={isFiltered} isLater={query.cursor !== null} />
      )}
      {answer.data && rows.length > 0 && (
        <>
          <DataGrid
            label={`Rows of ${table.name}`}
            columns={shown}
            rows={rows}
            edits={edits}
            sort={query.sort}
            onSort={(sort) => setQuery({ sort })}
            selected={selected}
            onSelect={setSelected}
            onOpen={open}
            onKeep={keep}
          />
          <Text size="sm" c="dimmed">
            Enter, F2 or a double click opens a cell; arrow keys lead from cell to cell; Space selects a row.
            {shown.length < table.columns.length &&
              ` ${shown.length} of ${table.columns.length} columns are shown.`}
          </Text>
        </>
      )}
      {answer.data && (
        <Pager
          query={query}
          setQuery={setQuery}
          nextCursor={answer.isPlaceholderData ? null : answer.data.nextCursor}
          rows={rows.length}
        />
      )}
      <ChangeBar edits={edits} setEdits={setEdits} onSaved={() => void refresh()} />
    </Stack>
  );
}
