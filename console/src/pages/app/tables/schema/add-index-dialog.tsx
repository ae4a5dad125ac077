import { Checkbox, MultiSelect, Stack } from '@mantine/core';
import { columnsPerIndexMax } from '@svc/contract/columns.ts';
import { addIndex } from '@svc/contract/tables.ts';
import { useState } from 'react';
import { useChange } from '../../../../change/use-change.ts';
import { PreviewBar } from '../../../../parts/preview-bar.tsx';
import { Dialog } from '../dialog.tsx';
import { useTable } from '../use-table.ts';

export function AddIndexDialog({ onClose }: { onClose: () => void }) {
  const { table, params } = useTable();
  const [columns, setColumns] = useState<string[]>([]);
  const [unique, setUnique] = useState(false);
  const change = useChange(addIndex, {
    title: 'Add an index',
    verb: 'Add index',
    done: 'The index is there.',
    onDone: onClose,
  });
  return (
    <Dialog onClose={onClose} title={`Add an index to ${table.name}`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (columns.length > 0) void change.propose({ params, body: { columns, unique } });
        }}
      >
        <Stack>
          <MultiSelect
            label="Columns"
            description="In the order in which you filter and sort by them."
            data={table.columns.map(({ name }) => name)}
            value={columns}
            onChange={setColumns}
            maxValues={columnsPerIndexMax}
            error={change.errorOf('columns')}
            comboboxProps={{ withinPortal: true }}
          />
          <Checkbox
            label="Unique"
            description="No two rows may have the same values. An import can then tell rows that are there already."
            checked={unique}
            onChange={(event) => setUnique(event.currentTarget.checked)}
          />
          <PreviewBar
            change={change}
            why={columns.length === 0 ? 'Choose a column first.' : null}
            onCancel={onClose}
          />
        </Stack>
      </form>
    </Dialog>
  );
}
