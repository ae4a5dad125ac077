import { Group, Pill } from '@mantine/core';
import { CopyButtonFor } from '../../../../parts/copy-button-for.tsx';
import { useTable } from '../use-table.ts';
import { filterLabel, filterText } from './filter-text.ts';
import { type GridQuery, listSearch } from './grid-query.ts';

/** What the rows shown are filtered by, each to be taken away, and the same as an address of the data API. */
export function FilterBar({
  query,
  setQuery,
}: {
  query: GridQuery;
  setQuery: (change: Partial<GridQuery>) => void;
}) {
  const { table, path } = useTable();
  // A comma needs no escape there, and is easier to read.
  const search = String(listSearch(query, query.select)).replaceAll('%2C', ',');
  const url = `${location.origin}${path}${search && `?${search}`}`;
  return (
    <Group gap="xs">
      {query.filters.map((filter, at) => {
        const column = table.columns.find(({ name }) => name === filter.column);
        const label = column ? filterLabel(column.type, filter) : filterText(filter);
        return (
          <Pill
            // biome-ignore lint/suspicious/noArrayIndexKey: two may be alike.
            key={`${filterText(filter)} ${at}`}
            size="md"
            withRemoveButton
            onRemove={() => setQuery({ filters: query.filters.filter((_, index) => index !== at) })}
            removeButtonProps={{ 'aria-label': `Take away: ${label}`, tabIndex: 0, 'aria-hidden': false }}
          >
            {label}
          </Pill>
        );
      })}
      <Group gap={4} wrap="nowrap" miw={0} maw="100%">
        <span className="mono grid-address" title={url}>
          GET {path}
          {search && `?${search}`}
        </span>
        <CopyButtonFor value={url} label="the address of these rows in the data API" />
      </Group>
    </Group>
  );
}
