import { Alert, Button, Code, Group, List, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import { BusyButton } from '../../../../parts/busy-button.tsx';
import { ProblemAlert } from '../../../../parts/problem-alert.tsx';
import { useTell } from '../../../../parts/told.tsx';
import { Dialog } from '../dialog.tsx';
import { useTable } from '../use-table.ts';
import { cellText } from './cell-value.ts';
import { deleteRows } from './delete-rows.ts';
import type { RawRow } from './raw-json.ts';
import { deleteRow, fetchRow } from './rows-api.ts';

const listedMax = 20;

/** Which rows would be gone, then gone they are. */
export function DeleteDialog({
  rows,
  ids,
  onClose,
  onDeleted,
}: {
  /** Those of the page, to show something of them. */
  rows: readonly RawRow[];
  ids: readonly string[];
  onClose: () => void;
  onDeleted: (ids: readonly string[]) => void;
}) {
  const { table, path } = useTable();
  const tell = useTell();
  const [done, setDone] = useState(0);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const [changed, setChanged] = useState(0);
  const count = ids.length === 1 ? '1 row' : `${ids.length} rows`;

  async function remove() {
    setBusy(true);
    setProblem(null);
    setChanged(0);
    setDone(0);
    const gone: string[] = [];
    try {
      const stayed = await deleteRows(ids, {
        shown: (id) => rows.find((row) => row.get('id') === id),
        read: (id) => fetchRow(path, id),
        remove: (id, etag) => deleteRow(path, id, etag),
        onGone: (id) => setDone(gone.push(id)),
      });
      if (gone.length > 0) tell(gone.length === 1 ? '1 row deleted.' : `${gone.length} rows deleted.`);
      if (stayed.length === 0) onClose();
      else setChanged(stayed.length);
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
      onDeleted(gone);
    }
  }

  return (
    <Dialog onClose={onClose} title={`Delete ${count} of ${table.name}`} size="lg" isBusy={isBusy}>
      <Stack>
        <Alert color="red" icon={<IconAlertTriangle aria-hidden />}>
          This can not be undone.
        </Alert>
        <List size="sm">
          {ids.slice(0, listedMax).map((id) => (
            <List.Item key={id}>
              <Code>{cellText('text', id)}</Code> {shortText(rows.find((row) => row.get('id') === id))}
            </List.Item>
          ))}
        </List>
        {ids.length > listedMax && <Text size="sm">and {ids.length - listedMax} more</Text>}
        {changed > 0 && (
          <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />}>
            {changed === 1 ? '1 row was' : `${changed} rows were`} changed by somebody else meanwhile and not
            deleted. Look at what is there now before you delete it.
          </Alert>
        )}
        {problem !== null && <ProblemAlert error={problem} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} disabled={isBusy}>
            Cancel
          </Button>
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

/** Enough of a row to know it again. */
function shortText(row: RawRow | undefined): string {
  const values = [...(row ?? [])].filter(([name, json]) => name !== 'id' && json !== 'null').slice(0, 3);
  return values.map(([name, json]) => `${name}: ${cellText('text', json).slice(0, 60)}`).join(', ');
}
