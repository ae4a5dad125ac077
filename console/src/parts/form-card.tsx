import { Paper, Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { ProblemAlert } from './problem-alert.tsx';

/** A form that stands by itself. The server checks what was typed, not the browser: the same words everywhere. */
export function FormCard({
  title,
  label,
  change,
  onSubmit,
  buttons,
  children,
}: {
  title: string;
  /** Where who does not see the page should find it among the others. */
  label?: string;
  change: { problem: unknown };
  onSubmit: () => void;
  buttons: ReactNode;
  children: ReactNode;
}) {
  return (
    <Paper withBorder p={{ base: 'md', sm: 'lg' }}>
      <form
        noValidate
        aria-label={label}
        onSubmit={(event) => {
          event.preventDefault();
          onSubmit();
        }}
      >
        <Stack>
          <Title order={2} size="h4">
            {title}
          </Title>
          {children}
          {change.problem !== null && <ProblemAlert error={change.problem} />}
          {buttons}
        </Stack>
      </form>
    </Paper>
  );
}
