import { Button, Group, Paper, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { MayButton } from '../../../../parts/may-button.tsx';
import { useTable } from '../use-table.ts';
import { countChanges, type Edits, noEdits } from './edits.ts';
import { focusGrid } from './focus-grid.ts';
import { ReviewDialog } from './review-dialog.tsx';

/** What is changed and not yet saved, always in sight. */
export function ChangeBar({
  edits,
  setEdits,
  onSaved,
}: {
  edits: Edits;
  setEdits: (change: (edits: Edits) => Edits) => void;
  onSaved: () => void;
}) {
  const { whyRows } = useTable();
  const [isOpen, setOpen] = useState(false);
  const count = countChanges(edits);
  const changes = count === 1 ? '1 change' : `${count} changes`;
  const isShown = count > 0 || isOpen;
  const wasShown = useRef(isShown);
  // Its button had the keyboard and is gone with it.
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
          <Button variant="default" onClick={() => setEdits(() => noEdits)}>
            Discard
          </Button>
          <MayButton why={whyRows} onClick={() => setOpen(true)}>
            Review {changes}
          </MayButton>
        </Group>
      </Group>
      {isOpen && (
        <ReviewDialog edits={edits} setEdits={setEdits} onSaved={onSaved} onClose={() => setOpen(false)} />
      )}
    </Paper>
  );
}
