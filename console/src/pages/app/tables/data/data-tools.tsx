import { Button, Group } from '@mantine/core';
import { IconDownload, IconFilter, IconPlus, IconTrash, IconUpload } from '@tabler/icons-react';
import { useState } from 'react';
import { MayButton } from '../../../../parts/may-button.tsx';
import { ExportDialog } from '../export/export-dialog.tsx';
import { ImportDialog } from '../import/import-dialog.tsx';
import { RowCount } from '../row-count.tsx';
import { useTable } from '../use-table.ts';
import { ColumnChoice } from './column-choice.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { FilterDialog } from './filter-dialog.tsx';
import { type GridQuery, listSearch } from './grid-query.ts';
import { InsertDialog } from './insert-dialog.tsx';
import type { RawRow } from './raw-json.ts';

export interface DataToolsProps {
  query: GridQuery;
  setQuery: (change: Partial<GridQuery>) => void;
  rows: readonly RawRow[];
  selected: ReadonlySet<string>;
  onDeleted: (ids: readonly string[]) => void;
  /** Rows came in. */
  onStored: () => void;
}

/** What can be done with the rows shown. */
export function DataTools({ query, setQuery, rows, selected, onDeleted, onStored }: DataToolsProps) {
  const { table, whyRows } = useTable();
  const [opened, setOpened] = useState<'filter' | 'insert' | 'import' | 'export' | 'delete' | null>(null);
  const close = () => setOpened(null);
  const filtered = String(listSearch({ ...query, sort: [] }, null));
  return (
    <Group justify="space-between" gap="xs">
      <Group gap="xs">
        <Button
          variant="default"
          leftSection={<IconFilter size={16} aria-hidden />}
          onClick={() => setOpened('filter')}
        >
          {query.filters.length === 0 ? 'Filter' : `Filter (${query.filters.length})`}
        </Button>
        <ColumnChoice query={query} setQuery={setQuery} />
        <RowCount key={filtered} table={table.name} search={filtered} />
      </Group>
      <Group gap="xs">
        {selected.size > 0 && (
          <MayButton
            why={whyRows}
            color="red"
            variant="light"
            leftSection={<IconTrash size={16} aria-hidden />}
            onClick={() => setOpened('delete')}
          >
            {selected.size === 1 ? 'Delete 1 row' : `Delete ${selected.size} rows`}
          </MayButton>
        )}
        <MayButton
          why={whyRows}
          variant="default"
          leftSection={<IconUpload size={16} aria-hidden />}
          onClick={() => setOpened('import')}
        >
          Import
        </MayButton>
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden />}
          onClick={() => setOpened('export')}
        >
          Export
        </Button>
        <MayButton
          why={whyRows}
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={() => setOpened('insert')}
        >
          Insert row
        </MayButton>
      </Group>
      {opened === 'filter' && (
        <FilterDialog
          filters={query.filters}
          onApply={(filters) => {
            setQuery({ filters });
            close();
          }}
          onClose={close}
        />
      )}
      {opened === 'insert' && <InsertDialog onClose={close} onStored={onStored} />}
      {opened === 'import' && <ImportDialog onClose={close} onStored={onStored} />}
      {opened === 'export' && <ExportDialog query={query} onClose={close} />}
      {opened === 'delete' && (
        <DeleteDialog
          rows={rows.filter((row) => selected.has(row.get('id') ?? ''))}
          ids={[...selected]}
          onClose={close}
          onDeleted={onDeleted}
        />
      )}
    </Group>
  );
}
