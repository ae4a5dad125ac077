import { Badge, Button, Group, Stack, Table, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { listMyTables } from '@svc/contract/grants.ts';
import { jsonItems, jsonMembers, type RawRow } from '@svc/contract/json.ts';
import { connectorTablePath } from '@svc/contract/row-path.ts';
import { IconArrowDown, IconArrowUp, IconFilter } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useParams } from 'wouter';
import { isCode } from '../../api/client.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { ActionButton } from '../../components/buttons.tsx';
import { TimeText } from '../../components/display.tsx';
import { EmptyState, PageHead, SmallLink } from '../../components/page-layout.tsx';
import { ProblemAlert } from '../../components/problem-alert.tsx';
import { Loading, QueryView } from '../../components/query-view.tsx';
import { CellValue, cellClass } from '../app/tables/data/cell-editor.tsx';
import { FilterBar } from '../app/tables/data/data-tools.tsx';
import { FilterDialog } from '../app/tables/data/filter-dialog.tsx';
import { ColumnType } from '../app/tables/data/grid-header.tsx';
import {
  type GridQuery,
  listSearch,
  toggleSort,
  useGridQuery,
  visibleColumns,
} from '../app/tables/data/grid-query.ts';
import { rowsAt } from '../app/tables/data/rows-api.ts';
import { CursorPager } from '../app/tables/data/rows-view.tsx';

type MyTable = Answer<NonNullable<typeof listMyTables.shape>>['items'][number];
type Column = MyTable['columns'][number];

/** Grants begin and end while the page is open. */
const pollMs = 10_000;

export default function ConnectorTablePage() {
  const tenant = useTenant();
  const { connector, schema, table } = useParams<{ connector: string; schema: string; table: string }>();
  const path = `${schema}/${table}`;
  const answer = useEndpoint(
    listMyTables,
    { params: { tenantID: tenant.id }, query: { connector, path } },
    { refetchMs: pollMs },
  );
  return (
    <>
      <PageHead
        title={path}
        lead={`Rows of ${connector} that your grants show`}
        actions={<SmallLink to={consolePaths.grants(tenant.slug)}>My access</SmallLink>}
      />
      <QueryView answer={answer}>
        {({ items: [found] }) =>
          found?.actions.includes('read') ? (
            <Rows key={path} table={found} />
          ) : (
            <NoAccess connector={connector} path={path} problem={found?.problem ?? null} />
          )
        }
      </QueryView>
    </>
  );
}

function NoAccess({ connector, path, problem }: { connector: string; path: string; problem: string | null }) {
  const tenant = useTenant();
  const form = consolePaths.requestAccess(tenant.slug, { connector, preset: 'reader', scope: path });
  return (
    <EmptyState
      title="You have no access to this table"
      action={
        problem === null && (
          <Button component={Link} href={form}>
            Request access
          </Button>
        )
      }
      command={`svc grants request --connector ${connector} --preset reader --scope ${path} --expires-in 8h --reason '…' --execute`}
    >
      {problem ?? 'No grant of yours opens it, or the grant has ended. Request access for a limited time.'}
    </EmptyState>
  );
}

function Rows({ table }: { table: MyTable }) {
  const tenant = useTenant();
  const { columns, connector_slug, expires_at, masked_columns } = table;
  const [query, setQuery] = useGridQuery(columns);
  const [isFiltering, setFiltering] = useState(false);
  const path = connectorTablePath(tenant.slug, connector_slug, table.path);
  const visible = visibleColumns(columns, query);
  const search = pageSearch(query, visible, columns);
  const answer = useQuery({
    queryKey: ['rows.list', path, String(search)],
    queryFn: ({ signal }) => fetchRows(path, search, signal),
    placeholderData: keepPreviousData,
  });
  if (isCode(answer.error, 'not_found'))
    return <NoAccess connector={connector_slug} path={table.path} problem={null} />;
  const rows = answer.isError ? undefined : answer.data?.rows;
  return (
    <Stack gap="sm">
      <Group gap="md">
        <ActionButton icon={IconFilter} onClick={() => setFiltering(true)}>
          {query.filters.length === 0 ? 'Filter' : `Filter (${query.filters.length})`}
        </ActionButton>
        {masked_columns.length > 0 && (
          <Badge variant="light" tt="none">
            {maskedText(columns)}
          </Badge>
        )}
        {expires_at !== null && (
          <span>
            Your access ends <TimeText value={expires_at} />
          </span>
        )}
      </Group>
      <FilterBar columns={columns} path={path} query={query} setQuery={setQuery} />
      {answer.isError && <ProblemAlert error={answer.error} retry={() => void answer.refetch()} />}
      {rows === undefined && !answer.isError && <Loading lines={8} />}
      {rows?.length === 0 && (
        <EmptyState title="No rows">No row matches, or your grants show none of them.</EmptyState>
      )}
      {rows && rows.length > 0 && (
        <RowTable
          label={`Rows of ${table.path}`}
          columns={visible}
          rows={rows}
          query={query}
          setQuery={setQuery}
        />
      )}
      {rows && (
        <CursorPager
          query={query}
          setQuery={setQuery}
          nextCursor={answer.isPlaceholderData ? null : (answer.data?.next ?? null)}
          rows={rows.length}
        />
      )}
      {isFiltering && (
        <FilterDialog
          columns={columns}
          filters={query.filters}
          onApply={(filters) => {
            setQuery({ filters });
            setFiltering(false);
          }}
          onClose={() => setFiltering(false)}
        />
      )}
    </Stack>
  );
}

const maskedText = (columns: readonly Column[]) =>
  `Masked: ${columns.flatMap(({ name, mask }) => (mask === null ? [] : [`${name} (${mask})`])).join(', ')}`;

interface RowTableProps {
  label: string;
  columns: readonly Column[];
  rows: readonly RawRow[];
  query: GridQuery;
  setQuery: (change: Partial<GridQuery>) => void;
}

function RowTable({ label, columns, rows, query: { sort }, setQuery }: RowTableProps) {
  return (
    <Table.ScrollContainer minWidth={600} tabIndex={0} aria-label={label} role="region">
      <Table aria-label={label} className="grid">
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ name, type, mask }) => {
              const key = sort.find(({ column }) => column === name);
              const Arrow = key?.descending ? IconArrowDown : IconArrowUp;
              return (
                <Table.Th
                  key={name}
                  className={cellClass(type)}
                  aria-sort={key ? (key.descending ? 'descending' : 'ascending') : 'none'}
                >
                  <UnstyledButton
                    className="grid-sort"
                    onClick={(event) =>
                      setQuery({ sort: toggleSort(sort, name, event.shiftKey ? 'added' : 'alone') })
                    }
                  >
                    <span>{name}</span> <ColumnType type={type} mask={mask} />
                    {key && <Arrow size={14} aria-hidden />}
                    <VisuallyHidden>, sort</VisuallyHidden>
                  </UnstyledButton>
                </Table.Th>
              );
            })}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row may have no key, and never changes here.
            <Table.Tr key={at}>
              {columns.map(({ name, type }) => (
                <Table.Td key={name} className={cellClass(type)}>
                  <CellValue type={type} value={row.get(name) ?? 'null'} />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

/** Tables without a key have page numbers only: then the cursor is `page-<number>`. */
const pagePrefix = 'page-';

function pageSearch(query: GridQuery, visible: readonly Column[], all: readonly Column[]): URLSearchParams {
  const search = listSearch(query, visible.length === all.length ? null : visible.map(({ name }) => name));
  search.set('per_page', String(query.perPage));
  if (query.cursor?.startsWith(pagePrefix)) search.set('page', query.cursor.slice(pagePrefix.length));
  else if (query.cursor !== null) search.set('cursor', query.cursor);
  return search;
}

async function fetchRows(path: string, search: URLSearchParams, signal: AbortSignal) {
  const { text } = await rowsAt(path).call({ query: [...search], signal });
  const page = jsonMembers(text);
  const read = (name: string) => JSON.parse(page.get(name) ?? 'null');
  const byNumber = read('has_more') ? `${pagePrefix}${read('page') + 1}` : null;
  return {
    rows: jsonItems(page.get('data') ?? '[]').map(jsonMembers),
    next: (read('next_cursor') as string | null) ?? byNumber,
  };
}
