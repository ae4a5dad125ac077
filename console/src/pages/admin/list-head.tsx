import { Button, Group } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';

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

export function NewButton({ to, label }: { to: string; label: string }) {
  return (
    <Button component={Link} href={to} leftSection={<IconPlus size={16} aria-hidden />}>
      {label}
    </Button>
  );
}
