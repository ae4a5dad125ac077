import { Button, Group, Stack } from '@mantine/core';
import { IconArrowLeft } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { BusyButton } from '../../parts/busy-button.tsx';
import { FormCard } from '../../parts/form-card.tsx';

/** A form with an address of its own: its button asks the server what would happen. */
export function FormFrame({
  title,
  back,
  submit,
  change,
  onSubmit,
  actions,
  children,
}: {
  title: string;
  /** Where one comes from, and goes when it is left. */
  back: { to: string; label: string };
  submit: string;
  change: { isBusy: boolean; problem: unknown };
  onSubmit: () => void;
  /** Beside the form's own buttons. */
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <Stack gap="md">
      <BackLink {...back} />
      <FormCard
        title={title}
        change={change}
        onSubmit={onSubmit}
        buttons={
          <Group justify="space-between">
            <Group>
              <BusyButton type="submit" loading={change.isBusy}>
                {submit}
              </BusyButton>
              <Button component={Link} href={back.to} variant="default">
                Cancel
              </Button>
            </Group>
            {actions}
          </Group>
        }
      >
        {children}
      </FormCard>
    </Stack>
  );
}

export function BackLink({ to, label }: { to: string; label: string }) {
  return (
    <Group>
      <Button
        component={Link}
        href={to}
        variant="subtle"
        size="compact-md"
        leftSection={<IconArrowLeft size={16} aria-hidden />}
      >
        {label}
      </Button>
    </Group>
  );
}
