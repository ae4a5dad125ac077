import { Button, type ButtonProps, Tooltip } from '@mantine/core';
import { type ReactNode, useId } from 'react';

/**
 * A button that is always there. Where it may not be used it says why: it stays within reach of the keyboard, so that
 * everybody can learn the reason.
 */
export function MayButton({
  why,
  onClick,
  children,
  ...rest
}: ButtonProps & {
  why: string | null;
  onClick: () => void;
  children: ReactNode;
  type?: 'button' | 'submit';
  'aria-label'?: string;
}) {
  const id = useId();
  if (why === null) {
    return (
      <Button onClick={onClick} {...rest}>
        {children}
      </Button>
    );
  }
  return (
    <>
      <Tooltip label={why} multiline maw={320} events={{ hover: true, focus: true, touch: true }}>
        <Button
          {...rest}
          data-disabled
          aria-disabled
          aria-describedby={id}
          onClick={(event) => event.preventDefault()}
        >
          {children}
        </Button>
      </Tooltip>
      <span id={id} hidden>
        {why}
      </span>
    </>
  );
}
