import { Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { BusyButton } from '../../parts/busy-button.tsx';
import { FormCard } from '../../parts/form-card.tsx';

/** The form of one way; its button asks the server what would be made. */
export function WayForm({
  title,
  change,
  submit,
  children,
}: {
  title: string;
  change: { isBusy: boolean; problem: unknown };
  submit: () => void;
  children: ReactNode;
}) {
  return (
    <FormCard
      title={title}
      label={title}
      change={change}
      onSubmit={submit}
      buttons={
        <Group>
          <BusyButton type="submit" loading={change.isBusy}>
            Preview the app
          </BusyButton>
        </Group>
      }
    >
      {children}
    </FormCard>
  );
}
