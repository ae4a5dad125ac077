import { Modal, type ModalProps } from '@mantine/core';
import type { ReactNode } from 'react';
import { useReturnedFocus } from '../../../parts/use-returned-focus.ts';

/** A window that is there as long as it is rendered. Once it is gone the keyboard is back where it was. */
export function Dialog({
  title,
  onClose,
  isBusy = false,
  size = 'md',
  children,
}: {
  title: string;
  onClose: () => void;
  /** How it ends is told there: it does not close before. */
  isBusy?: boolean;
  size?: ModalProps['size'];
  children: ReactNode;
}) {
  useReturnedFocus();
  return (
    <Modal
      opened
      onClose={() => !isBusy && onClose()}
      title={title}
      size={size}
      withCloseButton={!isBusy}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {children}
    </Modal>
  );
}
