import { Group, NativeSelect, Progress, Table } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { SmallLink } from '../../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../../components/problem-alert.tsx';
import { Loading } from '../../../../components/query-view.tsx';
import { Hint } from '../../../../components/text.tsx';
import { useTable } from '../use-table.ts';
import { formatCell, sqlNull } from './cell-value.ts';
import { type GridQuery, whyNotFiltered } from './grid-query.ts';
import {
  barLength,
  type Grouping,
  groupChoices,
  groupSearch,
  groupsShownMax,
  totalSearch,
  useGroupHref,
  valueChoices,
} from './grouping.ts';
import { useLabels } from './references.tsx';
import { fetchPage } from './rows-api.ts';

export function GroupTools({
  grouping,
  setGrouping,
}: {
  grouping: Grouping | null;
  setGrouping: (change: Partial<Grouping>) => void;
}) {
  const { table } = useTable();
  return (
    <Group gap="xs">
      <NativeSelect
        aria-label="Group by"
        size="sm"
        data={[{ value: '', label: 'No groups' }, ...groupChoices(table.columns)]}
        value={grouping?.group ?? ''}
        onChange={(event) => setGrouping({ group: event.currentTarget.value })}
      />
      {grouping && (
        <NativeSelect
          aria-label="Value of each group"
          size="sm"
          data={valueChoices(table.columns)}
          value={grouping.value}
          onChange={(event) => setGrouping({ value: event.currentTarget.value })}
        />
      )}
    </Group>
  );
}

export function GroupView({ grouping, query }: { grouping: Grouping; query: GridQuery }) {
  const why = whyNotFiltered(query);
  return why === null ? <Groups grouping={grouping} query={query} /> : <Hint role="status">{why}</Hint>;
}

function Groups({ grouping, query }: { grouping: Grouping; query: GridQuery }) {
  const { table } = useTable();
  const { filters, search } = query;
  const hrefOf = useGroupHref(grouping, query, table.columns);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const withSearch = (params: URLSearchParams) => {
    if (search !== '') params.set('_search', search);
    return params;
  };
  const groups = useGroups(withSearch(groupSearch(grouping, { filters, columns: table.columns, zone })));
  const total = useGroups(withSearch(totalSearch(grouping, filters)));
  const labels = useGroupLabels(
    grouping,
    (groups.data?.rows ?? []).flatMap((row) => row.get('g') ?? []),
  );
  if (groups.isError) return <ProblemAlert error={groups.error} retry={() => void groups.refetch()} />;
  if (!groups.data) return <Loading lines={6} />;
  const { rows, nextCursor } = groups.data;
  const values = rows.map((row) => row.get('v') ?? sqlNull);
  const nameOf = (key: string) => {
    const text = formatCell('text', key);
    return key === sqlNull ? 'null' : (labels.get(text) ?? (text || 'empty text'));
  };
  const label = (list: readonly { value: string; label: string }[], value: string) =>
    list.find((choice) => choice.value === value)?.label ?? value;
  return (
    <>
      <Table.ScrollContainer minWidth={480}>
        <Table aria-label={`Groups of ${table.name}`} verticalSpacing="xs">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{label(groupChoices(table.columns), grouping.group)}</Table.Th>
              <Table.Th ta="right">{label(valueChoices(table.columns), grouping.value)}</Table.Th>
              <Table.Th w="50%">Share of the largest</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row, at) => {
              const key = row.get('g') ?? sqlNull;
              return (
                <Table.Tr key={key}>
                  <Table.Td>
                    <SmallLink to={hrefOf(key)}>{nameOf(key)}</SmallLink>
                  </Table.Td>
                  <Table.Td ta="right">{formatCell('bigint', values[at] ?? sqlNull)}</Table.Td>
                  <Table.Td>
                    <Progress value={barLength(values[at] ?? sqlNull, values)} aria-hidden />
                  </Table.Td>
                </Table.Tr>
              );
            })}
          </Table.Tbody>
          <Table.Tfoot>
            <Table.Tr>
              <Table.Th scope="row">All rows</Table.Th>
              <Table.Td ta="right" fw={600}>
                {formatCell('bigint', total.data?.rows[0]?.get('v') ?? sqlNull)}
              </Table.Td>
              <Table.Td />
            </Table.Tr>
          </Table.Tfoot>
        </Table>
      </Table.ScrollContainer>
      {nextCursor !== null && <Hint>The first {groupsShownMax} groups. Filter the rows to see others.</Hint>}
    </>
  );
}

/** Rows that are grouped by a reference have the labels of what they refer to. */
function useGroupLabels({ group }: Grouping, keys: readonly string[]): ReadonlyMap<string, string> {
  const { table } = useTable();
  const load = useLabels();
  const ref = table.columns.find(({ name }) => name === group)?.ref;
  const ids = keys.filter((key) => key !== sqlNull).map((key) => JSON.stringify(formatCell('text', key)));
  const query = { id: `in.(${ids.join(',')})`, per_page: String(groupsShownMax) };
  const answer = useQuery({
    queryKey: ['rows.labels', table.id, ref, ids],
    queryFn: ({ signal }) => load(ref ?? '', query, signal),
    enabled: ref !== undefined && ids.length > 0,
  });
  return new Map(answer.data?.map(({ id, label }) => [id, label]));
}

function useGroups(search: URLSearchParams) {
  const { path } = useTable();
  return useQuery({
    queryKey: ['rows.aggregate', path, String(search)],
    queryFn: ({ signal }) => fetchPage(path, search, signal, 'aggregate'),
    placeholderData: keepPreviousData,
  });
}
