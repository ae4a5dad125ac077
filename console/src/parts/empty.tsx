import { Code, Paper, Stack, Text, Title } from '@mantine/core';
import { ProblemError } from '@svc/contract/client.ts';
import type { ReactNode } from 'react';
import { CopyText } from './copy-text.tsx';

/** Where there is nothing yet: what would be here, and how it comes to be. */
export function Empty({
  title,
  children,
  command,
  action,
  error,
}: {
  title: string;
  children: ReactNode;
  /** The same by the command line. */
  command?: string;
  action?: ReactNode;
  /** The answer that said so: an operator finds it in the log by its request id. */
  error?: unknown;
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
        {error instanceof ProblemError && error.problem.request_id && (
          <CopyText value={error.problem.request_id} label="request id" size="xs" />
        )}
        {command && (
          <Text size="sm" c="dimmed">
            In a terminal: <Code>{command}</Code>
          </Text>
        )}
      </Stack>
    </Paper>
  );
}
