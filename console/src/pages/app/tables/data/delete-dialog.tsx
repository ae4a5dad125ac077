import { Alert, Code, Group, List, Stack, Text } from '@mantine/core';
import type { RawRow } from '@svc/contract/json.ts';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import { useTask } from '../../../../change/use-change.ts';
import { BusyButton } from '../../../../components/buttons.tsx';
import { Dialog } from '../../../../components/dialog.tsx';
import { ProblemAlert } from '../../../../components/problem-alert.tsx';
import { SecondaryButton } from '../../../../components/text.tsx';
import { useToast } from '../../../../components/toasts.tsx';
import { useTable } from '../use-table.ts';
import { formatCell } from './cell-value.ts';
import { deleteRows } from './edits.ts';
import { shortText } from './history-dialogs.tsx';
import { deleteRow, fetchRow } from './rows-api.ts';

const listedMax = 20;

export function DeleteDialog({
  rows,
  ids,
  onClose,
  onDeleted,
}: {
  rows: readonly RawRow[];
  ids: readonly string[];
  onClose: () => void;
  onDeleted: (ids: readonly string[]) => void;
}) {
  const { table, path } = useTable();
  const showToast = useToast();
  const [done, setDone] = useState(0);
  const { run, isBusy, problem } = useTask();
  const [changed, setChanged] = useState(0);
  const count = ids.length === 1 ? '1 row' : `${ids.length} rows`;

  async function remove() {
    setChanged(0);
    setDone(0);
    const gone: string[] = [];
    await run(async () => {
      const stayed = await deleteRows(ids, {
        displayed: (id) => rows.find((row) => row.get('id') === id),
        read: (id) => fetchRow(path, id),
        remove: (id, etag) => deleteRow(path, id, etag),
        onGone: (id) => setDone(gone.push(id)),
      });
      if (gone.length > 0) showToast(gone.length === 1 ? '1 row deleted.' : `${gone.length} rows deleted.`);
      if (stayed.length === 0) onClose();
      else setChanged(stayed.length);
    });
    onDeleted(gone);
  }

  return (
    <Dialog onClose={onClose} title={`Delete ${count} of ${table.name}`} size="lg" isBusy={isBusy}>
      <Stack>
        <Alert color="red" icon={<IconAlertTriangle aria-hidden />}>
          {table.soft_delete === null
            ? 'This cannot be undone.'
            : `Deleted rows can be restored for ${table.soft_delete}.`}
        </Alert>
        <List size="sm">
          {ids.slice(0, listedMax).map((id) => (
            <List.Item key={id}>
              <Code>{formatCell('text', id)}</Code> {shortText(rows.find((row) => row.get('id') === id))}
            </List.Item>
          ))}
        </List>
        {ids.length > listedMax && <Text size="sm">and {ids.length - listedMax} more</Text>}
        {changed > 0 && (
          <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />}>
            {changed === 1 ? '1 row was' : `${changed} rows were`} changed by somebody else meanwhile and not
            deleted. Check the current values before you delete.
          </Alert>
        )}
        <ProblemAlert error={problem} />
        <Group justify="flex-end">
          <SecondaryButton onClick={onClose} disabled={isBusy}>
            Cancel
          </SecondaryButton>
          <BusyButton color="red" loading={isBusy} onClick={() => void remove()}>
            Delete {count}
          </BusyButton>
        </Group>
        {isBusy && (
          <Text size="sm" role="status">
            {done} of {ids.length} deleted
          </Text>
        )}
      </Stack>
    </Dialog>
  );
}
