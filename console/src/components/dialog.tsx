import { Modal, type ModalProps, Stack } from '@mantine/core';
import type { ComponentProps, ReactNode } from 'react';
import { useRestoreFocus } from './focus.ts';
import { FormElement, FormEnd, SubmitButton } from './form-card.tsx';
import { SecondaryButton } from './text.tsx';

export function Dialog({
  title,
  onClose,
  isBusy = false,
  size = 'md',
  children,
}: {
  title: string;
  onClose: () => void;
  isBusy?: boolean;
  size?: ModalProps['size'];
  children: ReactNode;
}) {
  useRestoreFocus();
  return (
    <Modal opened onClose={() => !isBusy && onClose()} title={title} size={size} withCloseButton={!isBusy}>
      {children}
    </Modal>
  );
}

export function FormDialog({
  form,
  onClose,
  onPreview,
  children,
  ...rest
}: Omit<ComponentProps<typeof Dialog>, 'isBusy'> & {
  form: ComponentProps<typeof FormEnd>['form'];
  onPreview?: () => void;
}) {
  return (
    <Dialog onClose={onClose} {...rest}>
      <FormElement form={form} onPreview={onPreview}>
        <Stack>
          {children}
          <FormEnd form={form} justify="flex-end">
            <SecondaryButton onClick={onClose}>Cancel</SecondaryButton>
            <SubmitButton form={form}>Preview</SubmitButton>
          </FormEnd>
        </Stack>
      </FormElement>
    </Dialog>
  );
}
