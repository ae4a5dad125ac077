import { Button, Group } from '@mantine/core';
import { MayButton } from './may-button.tsx';
import { ProblemAlert } from './problem-alert.tsx';

/** The end of a form in a dialog: why it was refused, the way out, and the way to what would happen. */
export function PreviewBar({
  change,
  why = null,
  onCancel,
}: {
  change: { isBusy: boolean; problem: unknown };
  /** What is still missing. */
  why?: string | null;
  onCancel: () => void;
}) {
  return (
    <>
      {change.problem !== null && <ProblemAlert error={change.problem} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
        <MayButton type="submit" loading={change.isBusy} why={why} onClick={() => {}}>
          Preview
        </MayButton>
      </Group>
    </>
  );
}
