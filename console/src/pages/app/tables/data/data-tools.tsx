import { Checkbox, Group, Pill, Popover, Stack, TextInput } from '@mantine/core';
import { indexesPerTableMax } from '@svc/contract/columns.ts';
import { searchCharsMax } from '@svc/contract/search.ts';
import { listIndexes } from '@svc/contract/tables.ts';
import {
  IconColumns3,
  IconDownload,
  IconEdit,
  IconFilter,
  IconHistory,
  IconPlus,
  IconSearch,
  IconTrash,
  IconUpload,
} from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useEndpoint } from '../../../../api/use-endpoint.ts';
import { ActionButton, CopyIconButton } from '../../../../components/buttons.tsx';
import { SecondaryButton, SmallButton } from '../../../../components/text.tsx';
import { useTable } from '../use-table.ts';
import {
  filterLabel,
  formatFilter,
  type GridColumn,
  type GridQuery,
  isRelated,
  listSearch,
  visibleColumns,
  whyNotFiltered,
} from './grid-query.ts';
import { LiveSwitch } from './live-switch.tsx';
import type { RowDialog, RowDialogProps } from './row-dialogs.tsx';

const OpenRowDialog = lazy(async () => ({ default: (await import('./row-dialogs.tsx')).OpenRowDialog }));

export function DataTools(props: RowDialogProps) {
  const { query, setQuery, selected, onStored } = props;
  const { table, whyNotWrite } = useTable();
  const [opened, setOpened] = useState<RowDialog | null>(null);
  return (
    <Group justify="space-between" gap="xs">
      <Group gap="xs">
        <SearchBox key={query.search} query={query} setQuery={setQuery} />
        <ActionButton icon={IconFilter} onClick={() => setOpened('filter')}>
          {query.filters.length === 0 ? 'Filter' : `Filter (${query.filters.length})`}
        </ActionButton>
        <ColumnChoice query={query} setQuery={setQuery} />
        <LiveSwitch query={query} refresh={onStored} />
      </Group>
      <Group gap="xs">
        {selected.size > 0 && (
          <ActionButton
            why={whyNotWrite}
            color="red"
            variant="light"
            icon={IconTrash}
            onClick={() => setOpened('delete')}
          >
            {selected.size === 1 ? 'Delete 1 row' : `Delete ${selected.size} rows`}
          </ActionButton>
        )}
        {selected.size === 1 && table.history !== null && (
          <ActionButton icon={IconHistory} onClick={() => setOpened('history')}>
            History
          </ActionButton>
        )}
        {table.soft_delete !== null && (
          <ActionButton icon={IconTrash} onClick={() => setOpened('trash')}>
            Trash
          </ActionButton>
        )}
        {query.filters.length > 0 && query.search === '' && (
          <ActionButton
            why={whyNotWrite ?? whyNotFiltered(query)}
            icon={IconEdit}
            onClick={() => setOpened('matching')}
          >
            Change matching
          </ActionButton>
        )}
        <ActionButton why={whyNotWrite} icon={IconUpload} onClick={() => setOpened('import')}>
          Import
        </ActionButton>
        <ActionButton why={whyNotFiltered(query)} icon={IconDownload} onClick={() => setOpened('export')}>
          Export
        </ActionButton>
        <ActionButton variant="filled" why={whyNotWrite} icon={IconPlus} onClick={() => setOpened('insert')}>
          Insert row
        </ActionButton>
      </Group>
      {opened !== null && (
        <Suspense>
          <OpenRowDialog {...props} dialog={opened} onClose={() => setOpened(null)} />
        </Suspense>
      )}
    </Group>
  );
}

function SearchBox({
  query,
  setQuery,
}: {
  query: GridQuery;
  setQuery: (change: Partial<GridQuery>) => void;
}) {
  const { params, table } = useTable();
  const [words, setWords] = useState(query.search);
  const { data } = useEndpoint(listIndexes, { params, query: { per_page: indexesPerTableMax } });
  const index = data?.items.find(({ search }) => search);
  const related = query.filters.find(isRelated);
  if (!index && query.search === '') return null;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        setQuery({ search: words.trim() });
      }}
    >
      <TextInput
        type="search"
        size="sm"
        w={240}
        aria-label={`Search ${index?.columns.join(', ') ?? table.name}`}
        placeholder={'Search: tea "green pot" -cup'}
        maxLength={searchCharsMax}
        leftSection={<IconSearch size={16} aria-hidden />}
        disabled={related !== undefined && query.search === ''}
        title={
          related && `A search has the columns of one table. Remove the filter on ${related.column} first.`
        }
        value={words}
        onChange={(event) => {
          setWords(event.currentTarget.value);
          if (event.currentTarget.value === '') setQuery({ search: '' });
        }}
      />
    </form>
  );
}

function ColumnChoice({
  query,
  setQuery,
}: {
  query: GridQuery;
  setQuery: (change: Partial<GridQuery>) => void;
}) {
  const { table } = useTable();
  const visible = visibleColumns(table.columns, query).map(({ name }) => name);
  return (
    <Popover position="bottom-start" shadow="md" trapFocus>
      <Popover.Target>
        <SecondaryButton leftSection={<IconColumns3 size={16} aria-hidden />}>Columns</SecondaryButton>
      </Popover.Target>
      <Popover.Dropdown aria-label="Visible columns">
        <Checkbox.Group
          label="Visible"
          value={visible}
          onChange={(names) => names.length > 0 && setQuery({ select: names })}
        >
          <Stack gap="xs" mt="xs" mah={320} style={{ overflowY: 'auto' }}>
            {table.columns.map(({ name }) => (
              <Checkbox key={name} value={name} label={name} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Group mt="sm">
          <SmallButton onClick={() => setQuery({ select: null })}>Show all</SmallButton>
        </Group>
      </Popover.Dropdown>
    </Popover>
  );
}

export function FilterBar({
  columns,
  path,
  query,
  setQuery,
}: {
  columns: readonly GridColumn[];
  path: string;
  query: GridQuery;
  setQuery: (change: Partial<GridQuery>) => void;
}) {
  const search = String(listSearch(query, query.select)).replaceAll('%2C', ',');
  const url = `${location.origin}${path}${search && `?${search}`}`;
  return (
    <Group gap="xs">
      {query.filters.map((filter, at) => {
        const column = columns.find(({ name }) => name === filter.column);
        const label = column ? filterLabel(column.type, filter) : formatFilter(filter);
        return (
          <Pill
            // biome-ignore lint/suspicious/noArrayIndexKey: two filters may be equal.
            key={`${formatFilter(filter)} ${at}`}
            size="md"
            withRemoveButton
            onRemove={() => setQuery({ filters: query.filters.filter((_, index) => index !== at) })}
            removeButtonProps={{ 'aria-label': `Remove filter: ${label}`, tabIndex: 0, 'aria-hidden': false }}
          >
            {label}
          </Pill>
        );
      })}
      <Group gap={4} wrap="nowrap" miw={0} maw="100%">
        <span className="mono grid-url" title={url}>
          GET {path}
          {search && `?${search}`}
        </span>
        <CopyIconButton value={url} label="the data API URL of these rows" />
      </Group>
    </Group>
  );
}
