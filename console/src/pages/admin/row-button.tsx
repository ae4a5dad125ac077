import { VisuallyHidden } from '@mantine/core';
import { MayButton } from '../../parts/may-button.tsx';

/** A small button in a row of a table; who does not see the row hears whose it is. */
export function RowButton({
  verb,
  name,
  why = null,
  color,
  onClick,
}: {
  verb: string;
  /** Of the row: `category Finance`. */
  name: string;
  why?: string | null;
  color?: string;
  onClick: () => void;
}) {
  return (
    <MayButton
      why={why}
      variant="default"
      size="compact-sm"
      fw={500}
      c={why === null ? color : undefined}
      onClick={onClick}
    >
      {verb}
      <VisuallyHidden> {name}</VisuallyHidden>
    </MayButton>
  );
}
