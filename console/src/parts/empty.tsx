import { Code, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** Where there is nothing yet: what would be here, and how it comes to be. */
export function Empty({
  title,
  children,
  command,
  action,
}: {
  title: string;
  children: ReactNode;
  /** The same by the command line. */
  command?: string;
  action?: ReactNode;
}) {
  return (
    <Paper withBorder p="xl" radius="md">
      <Stack align="center" gap="sm" ta="center">
        <Title order={2} size="h4">
          {title}
        </Title>
        <Text c="dimmed" maw={520}>
          {children}
        </Text>
        {action}
        {command && (
          <Text size="sm" c="dimmed">
            In a terminal: <Code>{command}</Code>
          </Text>
        )}
      </Stack>
    </Paper>
  );
}
