import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link } from 'wouter';

/** To the page where a new one is made. */
export function NewButton({ to, label }: { to: string; label: string }) {
  return (
    <Button component={Link} href={to} leftSection={<IconPlus size={16} aria-hidden />}>
      {label}
    </Button>
  );
}
