import { Button, Checkbox, Group, Popover, Stack } from '@mantine/core';
import { IconColumns3 } from '@tabler/icons-react';
import { useTable } from '../use-table.ts';
import { type GridQuery, shownColumns } from './grid-query.ts';

/** Which columns the grid shows. */
export function ColumnChoice({
  query,
  setQuery,
}: {
  query: GridQuery;
  setQuery: (change: Partial<GridQuery>) => void;
}) {
  const { table } = useTable();
  const shown = shownColumns(table.columns, query).map(({ name }) => name);
  return (
    <Popover position="bottom-start" shadow="md" trapFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<IconColumns3 size={16} aria-hidden />}>
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Columns to show">
        <Checkbox.Group
          label="Shown"
          value={shown}
          onChange={(names) => names.length > 0 && setQuery({ select: names })}
        >
          <Stack gap="xs" mt="xs" mah={320} style={{ overflowY: 'auto' }}>
            {table.columns.map(({ name }) => (
              <Checkbox key={name} value={name} label={name} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Group mt="sm">
          <Button size="compact-sm" variant="default" onClick={() => setQuery({ select: null })}>
            Show all
          </Button>
        </Group>
      </Popover.Dropdown>
    </Popover>
  );
}
