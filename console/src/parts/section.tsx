import { Paper, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useId } from 'react';

/** A part of a tab with a heading of its own. */
export function Section({
  title,
  lead,
  tone,
  children,
}: {
  title: string;
  lead?: ReactNode;
  /** For what can do harm. */
  tone?: 'danger';
  children: ReactNode;
}) {
  const id = useId();
  return (
    <Paper
      withBorder
      p={{ base: 'md', sm: 'lg' }}
      component="section"
      aria-labelledby={id}
      style={tone === 'danger' ? { borderColor: 'var(--mantine-color-red-filled)' } : undefined}
    >
      <Stack gap="md">
        <Stack gap={2}>
          <Title order={2} size="h4" id={id}>
            {title}
          </Title>
          {lead && (
            <Text c="dimmed" size="sm" component="div">
              {lead}
            </Text>
          )}
        </Stack>
        {children}
      </Stack>
    </Paper>
  );
}
