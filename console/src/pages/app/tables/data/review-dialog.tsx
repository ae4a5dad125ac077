import { Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { isCode } from '../../../../api/query-client.ts';
import { MayButton } from '../../../../parts/may-button.tsx';
import { useTell } from '../../../../parts/told.tsx';
import { Dialog } from '../dialog.tsx';
import { useTable } from '../use-table.ts';
import { countChanges, type Edits, type RowEdit, rebased, withEdit, without } from './edits.ts';
import { ReviewedRow } from './reviewed-row.tsx';
import { fetchRow, patchRow, type ReadRow } from './rows-api.ts';

/** Why a row was not saved: somebody else has changed it, or it was refused. */
export type Outcome = { kind: 'conflict'; theirs: ReadRow } | { kind: 'refused'; error: unknown };

/** What would be saved, before and after; then saved, row by row, each only upon what was read. */
export function ReviewDialog({
  edits,
  setEdits,
  onSaved,
  onClose,
}: {
  edits: Edits;
  setEdits: (change: (edits: Edits) => Edits) => void;
  onSaved: () => void;
  onClose: () => void;
}) {
  const { path } = useTable();
  const tell = useTell();
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const [isBusy, setBusy] = useState(false);
  const count = countChanges(edits);
  const changes = count === 1 ? '1 change' : `${count} changes`;
  const hasConflict = [...outcomes.values()].some(({ kind }) => kind === 'conflict');

  const whyNotSave = hasConflict
    ? 'Choose first whose values stay.'
    : count === 0
      ? 'Nothing is changed any more.'
      : null;

  async function saveRow(id: string, edit: RowEdit): Promise<Outcome | null> {
    try {
      await patchRow(path, id, edit.changes, edit.etag);
      return null;
    } catch (error) {
      if (!isCode(error, 'precondition_failed')) return { kind: 'refused', error };
    }
    try {
      return { kind: 'conflict', theirs: await fetchRow(path, id) };
    } catch (error) {
      return { kind: 'refused', error };
    }
  }

  async function save(todo: Edits) {
    setBusy(true);
    const next = new Map(outcomes);
    let saved = 0;
    for (const [id, edit] of todo) {
      const outcome = await saveRow(id, edit);
      if (outcome) next.set(id, outcome);
      else {
        next.delete(id);
        saved++;
        setEdits((now) => without(now, id));
      }
    }
    setOutcomes(next);
    setBusy(false);
    if (saved > 0) {
      tell(saved === 1 ? '1 row saved.' : `${saved} rows saved.`);
      onSaved();
    }
    if (saved === todo.size && todo.size === edits.size) onClose();
  }

  function drop(id: string) {
    setOutcomes(new Map([...outcomes].filter(([each]) => each !== id)));
    setEdits((now) => without(now, id));
    onSaved();
    if (edits.size === 1) onClose();
  }

  function saveMine(id: string, edit: RowEdit, theirs: ReadRow) {
    const mine = rebased(edit, theirs);
    setEdits((now) => withEdit(now, id, mine));
    if (mine.changes.size > 0) void save(new Map([[id, mine]]));
    else drop(id);
  }

  return (
    <Dialog onClose={onClose} title={`Save ${changes}`} size="xl" isBusy={isBusy}>
      <Stack>
        <Text size="sm">
          {hasConflict
            ? 'Somebody has changed a row meanwhile. Choose whose values stay.'
            : 'This is what will be saved. A row that somebody else has changed meanwhile is not overwritten.'}
        </Text>
        {[...edits].map(([id, edit]) => (
          <ReviewedRow
            key={id}
            id={id}
            edit={edit}
            outcome={outcomes.get(id) ?? null}
            isBusy={isBusy}
            onDrop={() => drop(id)}
            onSaveMine={(theirs) => saveMine(id, edit, theirs)}
          />
        ))}
        <Group justify="flex-end">
          <MayButton variant="default" onClick={onClose} why={isBusy ? 'Rows are being saved.' : null}>
            Back to the grid
          </MayButton>
          <MayButton loading={isBusy} why={whyNotSave} onClick={() => void save(edits)} data-autofocus>
            Save {changes}
          </MayButton>
        </Group>
      </Stack>
    </Dialog>
  );
}
