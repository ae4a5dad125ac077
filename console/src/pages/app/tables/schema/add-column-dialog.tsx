import { Stack, Text } from '@mantine/core';
import { addColumn } from '@svc/contract/tables.ts';
import { useState } from 'react';
import { useChange } from '../../../../change/use-change.ts';
import { PreviewBar } from '../../../../parts/preview-bar.tsx';
import { columnOf, draftFaults, newDraft } from '../column-draft.ts';
import { ColumnFields } from '../column-fields.tsx';
import { Dialog } from '../dialog.tsx';
import { useTable } from '../use-table.ts';

export function AddColumnDialog({ onClose }: { onClose: () => void }) {
  const { table, params } = useTable();
  const [draft, setDraft] = useState(newDraft);
  const [isTried, setTried] = useState(false);
  const faults = draftFaults(
    draft,
    table.columns.map(({ name }) => name),
  );
  const change = useChange(addColumn, {
    title: 'Add a column',
    verb: 'Add column',
    done: `The column ${draft.name} is there.`,
    onDone: onClose,
  });
  return (
    <Dialog onClose={onClose} title={`Add a column to ${table.name}`} size="xl">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          setTried(true);
          if (Object.keys(faults).length === 0) void change.propose({ params, body: columnOf(draft) });
        }}
      >
        <Stack>
          <ColumnFields
            draft={draft}
            faults={isTried ? faults : {}}
            label="The new column"
            onChange={setDraft}
          />
          <Text size="sm" c="dimmed">
            Rows that are there get the default, else null. A table with rows takes a column without either
            only if it may be null.
          </Text>
          <PreviewBar change={change} onCancel={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
}
