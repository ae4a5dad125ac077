import { Group, Stack, Text, VisuallyHidden } from '@mantine/core';
import type { RawRow } from '@svc/contract/json.ts';
import { tablePath } from '@svc/contract/row-path.ts';
import { countCap } from '@svc/contract/rows.ts';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { CopyText } from '../../../../components/buttons.tsx';
import { DataTable, DetailTable } from '../../../../components/data-table.tsx';
import { Dialog } from '../../../../components/dialog.tsx';
import { SmallLink } from '../../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../../components/problem-alert.tsx';
import { Loading, QueryView } from '../../../../components/query-view.tsx';
import { Hint, SubHeading } from '../../../../components/text.tsx';
import { useApp } from '../../use-app.tsx';
import { type ReadableTable, useReadableTable, useTables } from '../use-readable-table.ts';
import { type TableView, useTable, withValueTypes } from '../use-table.ts';
import { CellContent } from './cell-content.tsx';
import { formatCell, sqlNull } from './cell-value.ts';
import { isShown } from './history-dialogs.tsx';
import { useRowPath } from './references.tsx';
import { fetchLabelled, isUnknown, labelColumn, type ReferenceLabels } from './relations.ts';
import { fetchCount } from './rows-api.ts';
import { useOwnerNames } from './use-owner-names.ts';

/** All values of a row, and the rows of other tables that refer to it. */
export function RowDetails({
  id,
  columns,
  relations,
  onClose,
}: ReadableTable & { id: string; onClose: () => void }) {
  const { table, path } = useTable();
  const answer = useQuery({
    queryKey: ['rows.details', path, id],
    queryFn: ({ signal }) =>
      fetchLabelled(path, new URLSearchParams({ id: `eq.${id}` }), relations, signal).catch((error) => {
        if (isUnknown(error)) return null;
        throw error;
      }),
  });
  const row = answer.data?.rows[0];
  return (
    <Dialog onClose={onClose} title={`${table.name}: ${rowName(row, labelColumn(columns), id)}`} size="xl">
      <QueryView answer={answer}>
        {(found) =>
          row && found ? (
            <Stack>
              <Values id={id} row={row} columns={columns} labels={found.labels} />
              <ReferringTables id={id} />
            </Stack>
          ) : (
            <Text>This row was deleted, or you cannot see it.</Text>
          )
        }
      </QueryView>
    </Dialog>
  );
}

function rowName(row: RawRow | undefined, label: string | null, id: string): string {
  return formatCell('text', (label !== null && row?.get(label)) || sqlNull) || id;
}

function Values({
  id,
  row,
  columns,
  labels,
}: Pick<ReadableTable, 'columns'> & { id: string; row: RawRow; labels: ReferenceLabels }) {
  const { table, path } = useTable();
  const names = useOwnerNames([row]);
  const details: Record<string, ReactNode> = { id: <CopyText value={id} label="the id" /> };
  for (const column of columns) {
    const { name } = column;
    const value = row.get(name) ?? sqlNull;
    const person = name === table.owner_column ? names.get(formatCell('text', value)) : undefined;
    const cell = { path, row: id, column, value, labels, person };
    details[name] ??= <CellContent {...cell} />;
  }
  return <DetailTable label={`Values of the row of ${table.name}`} details={details} />;
}

function ReferringTables({ id }: { id: string }) {
  const { table } = useTable();
  const tables = useTables({ enabled: true });
  const referring = (tables.data?.items ?? []).map(withValueTypes).flatMap((other) => {
    const references = other.columns.filter(({ ref }) => ref === table.name);
    return references.map(({ name }) => ({
      other,
      column: name,
      title: references.length > 1 ? `${other.name} by ${name}` : other.name,
    }));
  });
  if (tables.isError) return <ProblemAlert error={tables.error} retry={() => void tables.refetch()} />;
  return referring.map(({ other, column, title }) => (
    <ReferringRows key={title} table={other} column={column} id={id} title={title} />
  ));
}

const rowsShown = 5;
const columnsShown = 4;

/** The first rows of a table that refer to a row by a column, and a link to all of them. */
function ReferringRows({
  table,
  column,
  id,
  title,
}: {
  table: TableView;
  column: string;
  id: string;
  title: string;
}) {
  const { app, tenant, paths } = useApp();
  const rowPath = useRowPath();
  const readable = useReadableTable(table);
  const path = tablePath(tenant.slug, app.slug, table.name);
  const isReadable = readable?.columns.some(({ name, mask }) => name === column && !mask) ?? false;
  const answer = useQuery({
    queryKey: ['rows.referring', path, column, id],
    queryFn: async ({ signal }) => {
      const search = { [column]: `eq.${id}` };
      const others = readable?.relations.filter((relation) => relation.column !== column) ?? [];
      const [page, count] = await Promise.all([
        fetchLabelled(path, new URLSearchParams({ ...search, per_page: `${rowsShown}` }), others, signal),
        fetchCount(path, new URLSearchParams(search), signal),
      ]);
      return { ...page, count };
    },
    enabled: isReadable,
  });
  if ((readable && !isReadable) || isUnknown(answer.error)) return null;
  if (answer.isError) return <ProblemAlert error={answer.error} retry={() => void answer.refetch()} />;
  if (!answer.data || !readable) return <Loading lines={2} />;
  const { rows, labels, count } = answer.data;
  const all = `${paths.table(table.name)}?${new URLSearchParams({ filter: `${column}=eq.${id}` })}`;
  const label = labelColumn(readable.columns);
  const shown = readable.columns.filter(({ name }) => isShown(name) && name !== column && name !== label);
  const idOf = (row: RawRow) => formatCell('text', row.get('id') ?? sqlNull);
  return (
    <Stack gap="xs" component="section" aria-label={title}>
      <Group justify="space-between">
        <SubHeading>{title}</SubHeading>
        {rows.length > 0 && (
          <SmallLink to={all}>
            Show {count === 1 ? 'it' : `all ${count >= countCap ? `${countCap} and more` : count}`} in the
            grid
            <VisuallyHidden> of {table.name}</VisuallyHidden>
          </SmallLink>
        )}
      </Group>
      {rows.length === 0 ? (
        <Hint>No row refers to this one.</Hint>
      ) : (
        <DataTable
          label={title}
          minWidth={480}
          verticalSpacing="xs"
          rows={rows}
          keyOf={idOf}
          columns={[
            {
              head: label ?? 'id',
              cell: (row) => (
                <SmallLink to={rowPath(table.name, idOf(row))}>{rowName(row, label, idOf(row))}</SmallLink>
              ),
            },
            ...shown.slice(0, columnsShown).map((each) => ({
              head: each.name,
              cell: (row: RawRow) => (
                <CellContent
                  path={path}
                  row={idOf(row)}
                  column={each}
                  value={row.get(each.name) ?? sqlNull}
                  labels={labels}
                />
              ),
            })),
          ]}
        />
      )}
    </Stack>
  );
}
