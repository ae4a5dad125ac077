import { Tooltip } from '@mantine/core';
import { useId } from 'react';
import { BusyButton, type BusyButtonProps } from './busy-button.tsx';

/**
 * A button that is always there. Where it may not be used it says why: it stays within reach of the keyboard, so that
 * everybody can learn the reason. It is the same button before and after: who is on it stays on it.
 */
export function MayButton({
  why,
  onClick,
  ...rest
}: Omit<BusyButtonProps, 'onClick'> & { why: string | null; onClick: () => void }) {
  const id = useId();
  const isOpen = why === null;
  return (
    <>
      <Tooltip
        label={why ?? ''}
        disabled={isOpen}
        // What it says stands below as well, for who does not see it.
        aria-hidden
        multiline
        maw={320}
        events={{ hover: true, focus: true, touch: true }}
      >
        <BusyButton
          {...rest}
          {...(!isOpen && { 'data-disabled': true, 'aria-disabled': true, 'aria-describedby': id })}
          onClick={(event) => {
            if (isOpen) onClick();
            else event.preventDefault();
          }}
        />
      </Tooltip>
      {!isOpen && (
        <span id={id} hidden>
          {why}
        </span>
      )}
    </>
  );
}
