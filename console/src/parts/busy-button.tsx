import { Button, type ButtonProps } from '@mantine/core';
import type { ComponentProps, MouseEvent, ReactNode, Ref } from 'react';

export interface BusyButtonProps extends ButtonProps {
  onClick?: (event: MouseEvent<HTMLButtonElement>) => void;
  children: ReactNode;
  type?: 'button' | 'submit';
  ref?: Ref<HTMLButtonElement>;
  'aria-label'?: string;
  'aria-describedby'?: string;
  'aria-disabled'?: boolean;
  'data-disabled'?: boolean;
  'data-autofocus'?: boolean;
  'data-opens'?: string;
}

/** A button that does nothing while it waits, and keeps the focus: what a browser holds for disabled loses it. */
export function BusyButton({ loading = false, onClick, ...rest }: BusyButtonProps) {
  return (
    <Button
      {...rest}
      loading={loading}
      onClick={(event) => {
        if (loading) event.preventDefault();
        else onClick?.(event);
      }}
      renderRoot={(props: ComponentProps<'button'>) =>
        loading ? <button {...props} disabled={false} aria-disabled aria-busy /> : <button {...props} />
      }
    />
  );
}
