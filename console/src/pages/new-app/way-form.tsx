import { Button, Group, Paper, Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { ProblemAlert } from '../../parts/problem-alert.tsx';

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
    <Paper withBorder p={{ base: 'md', sm: 'lg' }}>
      <form
        noValidate
        aria-label={title}
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <Stack>
          <Title order={2} size="h4">
            {title}
          </Title>
          {children}
          {change.problem !== null && <ProblemAlert error={change.problem} />}
          <Group>
            <Button type="submit" loading={change.isBusy}>
              Preview the app
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}
