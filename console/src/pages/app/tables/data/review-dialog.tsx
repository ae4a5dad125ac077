import { Alert, Button, Group, Paper, Stack, Text } from '@mantine/core';
import type { RawRow } from '@svc/contract/json.ts';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { isCode } from '../../../../api/client.ts';
import { ActionButton } from '../../../../components/buttons.tsx';
import { DataTable } from '../../../../components/data-table.tsx';
import { Dialog } from '../../../../components/dialog.tsx';
import { ProblemAlert } from '../../../../components/problem-alert.tsx';
import { BoldText, SecondaryButton } from '../../../../components/text.tsx';
import { useToast } from '../../../../components/toasts.tsx';
import { type ColumnView, useTable } from '../use-table.ts';
import { CellValue } from './cell-editor.tsx';
import { formatCell } from './cell-value.ts';
import { countChanges, type Edits, noEdits, type RowEdit, rebaseEdit, removeEdit, setEdit } from './edits.ts';
import { fetchRow, patchRow, type VersionedRow } from './rows-api.ts';

export function ChangeBar({
  edits,
  setEdits,
  onSaved,
}: {
  edits: Edits;
  setEdits: (change: (edits: Edits) => Edits) => void;
  onSaved: () => void;
}) {
  const { whyNotWrite } = useTable();
  const [isOpen, setOpen] = useState(false);
  const count = countChanges(edits);
  const changes = count === 1 ? '1 change' : `${count} changes`;
  const isShown = count > 0 || isOpen;
  const wasShown = useRef(isShown);
  useEffect(() => {
    if (wasShown.current && !isShown) focusGrid();
    wasShown.current = isShown;
  }, [isShown]);
  if (!isShown) return null;
  return (
    <Paper withBorder shadow="md" p="sm" pos="sticky" bottom={12} style={{ zIndex: 5 }}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" role="status">
          {changes} not saved
        </Text>
        <Group gap="xs">
          <SecondaryButton onClick={() => setEdits(() => noEdits)}>Discard</SecondaryButton>
          <ActionButton variant="filled" why={whyNotWrite} onClick={() => setOpen(true)}>
            Review {changes}
          </ActionButton>
        </Group>
      </Group>
      {isOpen && (
        <ReviewDialog edits={edits} setEdits={setEdits} onSaved={onSaved} onClose={() => setOpen(false)} />
      )}
    </Paper>
  );
}

type Outcome = { kind: 'conflict'; theirs: VersionedRow } | { kind: 'refused'; error: unknown };

function ReviewDialog({
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
  const showToast = useToast();
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const [isBusy, setBusy] = useState(false);
  const count = countChanges(edits);
  const changes = count === 1 ? '1 change' : `${count} changes`;
  const hasConflict = [...outcomes.values()].some(({ kind }) => kind === 'conflict');

  const whyNotSave = hasConflict
    ? 'Choose whose values to keep first.'
    : count === 0
      ? 'No changes are left.'
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
        setEdits((now) => removeEdit(now, id));
      }
    }
    setOutcomes(next);
    setBusy(false);
    if (saved > 0) {
      showToast(saved === 1 ? '1 row saved.' : `${saved} rows saved.`);
      onSaved();
    }
    if (saved === todo.size && todo.size === edits.size) onClose();
  }

  function drop(id: string) {
    setOutcomes(new Map([...outcomes].filter(([each]) => each !== id)));
    setEdits((now) => removeEdit(now, id));
    onSaved();
    if (edits.size === 1) onClose();
  }

  function saveMine(id: string, edit: RowEdit, theirs: VersionedRow) {
    const mine = rebaseEdit(edit, theirs);
    setEdits((now) => setEdit(now, id, mine));
    if (mine.changes.size > 0) void save(new Map([[id, mine]]));
    else drop(id);
  }

  return (
    <Dialog onClose={onClose} title={`Save ${changes}`} size="xl" isBusy={isBusy}>
      <Stack>
        <Text size="sm">
          {hasConflict
            ? 'Somebody changed a row meanwhile. Choose whose values to keep.'
            : 'These changes will be saved. A row that somebody else changed meanwhile is not overwritten.'}
        </Text>
        {[...edits].map(([id, edit]) => (
          <RowReview
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
          <ActionButton onClick={onClose} why={isBusy ? 'Rows are being saved.' : null}>
            Back
          </ActionButton>
          <ActionButton
            variant="filled"
            loading={isBusy}
            why={whyNotSave}
            onClick={() => void save(edits)}
            data-autofocus
          >
            Save {changes}
          </ActionButton>
        </Group>
      </Stack>
    </Dialog>
  );
}

function RowReview({
  id,
  edit,
  outcome,
  isBusy,
  onDrop,
  onSaveMine,
}: {
  id: string;
  edit: RowEdit;
  outcome: Outcome | null;
  isBusy: boolean;
  onDrop: () => void;
  onSaveMine: (theirs: VersionedRow) => void;
}) {
  const { table } = useTable();
  const name = formatCell('text', id);
  const theirs = outcome?.kind === 'conflict' ? outcome.theirs : null;
  const columns = table.columns.filter(
    (column) => edit.changes.has(column.name) || (theirs && isChangedByOthers(column.name, edit, theirs.row)),
  );
  return (
    <Paper withBorder p="sm">
      <Stack gap="xs">
        <BoldText>
          Row <span className="mono">{name}</span>
        </BoldText>
        {theirs && (
          <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />}>
            Somebody else has changed this row meanwhile.
          </Alert>
        )}
        <DataTable
          label={`Changes of row ${name}`}
          minWidth={0}
          verticalSpacing={6}
          rows={columns}
          keyOf={(column) => column.name}
          columns={[
            { head: 'Column', cell: (column) => column.name },
            { head: 'Before', cell: renderCell(edit.base) },
            ...(theirs ? [{ head: 'Theirs', cell: renderCell(theirs.row) }] : []),
            {
              head: theirs ? 'Mine' : 'After',
              cell: (column) =>
                edit.changes.has(column.name) ? renderCell(edit.changes)(column) : 'not changed by you',
              td: { fw: 600 },
            },
          ]}
        />
        {outcome?.kind === 'refused' && <ProblemAlert error={outcome.error} />}
        {outcome && (
          <Group gap="xs">
            <Button variant="default" size="compact-md" disabled={isBusy} onClick={onDrop}>
              {theirs ? 'Keep theirs' : 'Discard my change'}
            </Button>
            {theirs && (
              <Button size="compact-md" disabled={isBusy} onClick={() => onSaveMine(theirs)}>
                Save mine
              </Button>
            )}
          </Group>
        )}
      </Stack>
    </Paper>
  );
}

const renderCell =
  (row: RawRow) =>
  ({ name, type }: ColumnView) => <CellValue type={type} value={row.get(name) ?? 'null'} />;

const isChangedByOthers = (column: string, { base }: RowEdit, now: RawRow) =>
  column !== 'updated_at' && base.get(column) !== now.get(column);

function focusGrid(): void {
  // A closing dialog restores the focus first if its opener still exists.
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    document.querySelector<HTMLElement>('.grid tbody td[tabindex="0"]')?.focus();
  });
}
