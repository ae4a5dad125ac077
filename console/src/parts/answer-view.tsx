import { Alert, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ProblemAlert } from './problem-alert.tsx';

/** An answer once it is there; until then its place is kept, and what went wrong is said. */
export function AnswerView<T>({
  answer,
  lines = 5,
  children,
}: {
  answer: UseQueryResult<T>;
  /** How much place to keep. */
  lines?: number;
  children: (data: T) => ReactNode;
}) {
  if (answer.data !== undefined) {
    return (
      <>
        {answer.isRefetchError && (
          <Alert color="yellow" mb="md" role="status">
            <Group gap="sm">
              <Text size="sm">This may be out of date: it could not be asked for again.</Text>
              <Button size="compact-sm" variant="default" onClick={() => void answer.refetch()}>
                Try again
              </Button>
            </Group>
          </Alert>
        )}
        {children(answer.data)}
      </>
    );
  }
  if (answer.isError) return <ProblemAlert error={answer.error} retry={() => void answer.refetch()} />;
  return <Placeholder lines={lines} />;
}

export function Placeholder({ lines }: { lines: number }) {
  return (
    <Stack gap="sm" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike.
        <Skeleton key={at} height={36} radius="sm" />
      ))}
    </Stack>
  );
}
