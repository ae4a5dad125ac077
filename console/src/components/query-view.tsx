import { Alert, Group, Skeleton, Stack, Text } from '@mantine/core';
import { type UseQueryResult, useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { BusyButton } from './buttons.tsx';
import { ProblemAlert } from './problem-alert.tsx';
import { SmallButton } from './text.tsx';

export function QueryView<T>({
  answer,
  lines = 5,
  children,
}: {
  answer: UseQueryResult<T>;
  lines?: number;
  children: (data: T) => ReactNode;
}) {
  if (answer.data !== undefined) {
    return (
      <>
        {answer.isRefetchError && (
          <Alert color="yellow" mb="md" role="status">
            <Group gap="sm">
              <Text size="sm">This may be outdated: the last refresh failed.</Text>
              <SmallButton onClick={() => void answer.refetch()}>Try again</SmallButton>
            </Group>
          </Alert>
        )}
        {children(answer.data)}
      </>
    );
  }
  if (answer.isError) return <ProblemAlert error={answer.error} retry={() => void answer.refetch()} />;
  return <Loading lines={lines} />;
}

export function Loading({ lines }: { lines: number }) {
  return (
    <Stack gap="sm" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the placeholders are identical.
        <Skeleton key={at} height={36} radius="sm" />
      ))}
    </Stack>
  );
}

interface Page<T> {
  items: readonly T[];
  next_cursor: string | null;
}

interface CursorPages<T, P> {
  items: T[] | undefined;
  first: P | undefined;
  error: Error | null;
  retry(): void;
  more: (() => void) | undefined;
  isMoreBusy: boolean;
}

export function useCursorPages<T, P extends Page<T>>(
  key: readonly unknown[],
  ask: (cursor: { cursor?: string }, signal: AbortSignal) => Promise<P & Page<T>>,
  { enabled = true }: { enabled?: boolean } = {},
): CursorPages<T, P> {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => ask(pageParam === null ? {} : { cursor: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last: P) => last.next_cursor,
    enabled,
  });
  return {
    items: query.data?.pages.flatMap((page) => page.items),
    first: query.data?.pages[0],
    error: query.error,
    retry: () => void query.refetch(),
    more: query.hasNextPage ? () => void query.fetchNextPage() : undefined,
    isMoreBusy: query.isFetchingNextPage,
  };
}

export function CursorList<T, P>({
  pages,
  lines,
  empty,
  children,
}: {
  pages: CursorPages<T, P>;
  lines: number;
  empty: ReactNode;
  children: (items: T[]) => ReactNode;
}) {
  return (
    <>
      <ProblemAlert error={pages.error} retry={pages.retry} />
      {pages.items === undefined && !pages.error && <Loading lines={lines} />}
      {pages.items && (pages.items.length === 0 ? empty : children(pages.items))}
      {pages.more && (
        <Group justify="center" mt="md">
          <BusyButton variant="default" onClick={pages.more} loading={pages.isMoreBusy}>
            Show more
          </BusyButton>
        </Group>
      )}
    </>
  );
}
