import { Group, Paper, Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** A part of the overview. */
export function Card({ title, more, children }: { title: string; more?: ReactNode; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Stack gap="sm">
        <Group justify="space-between" align="baseline">
          <Title order={2} size="h4">
            {title}
          </Title>
          {more}
        </Group>
        {children}
      </Stack>
    </Paper>
  );
}
