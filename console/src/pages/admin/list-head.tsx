import { Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { NewButton } from '../../parts/new-button.tsx';

/** Above a list: its filters, and the way to a new one. */
export function ListHead({ to, label, children }: { to: string; label: string; children?: ReactNode }) {
  return (
    <Group justify="space-between" align="flex-end" mb="md">
      <Group align="flex-end" gap="sm" className="filters">
        {children}
      </Group>
      <NewButton to={to} label={label} />
    </Group>
  );
}
