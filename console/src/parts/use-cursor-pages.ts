import { useInfiniteQuery } from '@tanstack/react-query';

interface Page<T> {
  items: readonly T[];
  next_cursor: string | null;
}

export interface CursorPages<T, P> {
  /** Of all pages that were asked for; undefined before the first is there. */
  items: T[] | undefined;
  first: P | undefined;
  error: Error | null;
  retry(): void;
  /** Asks for what follows; undefined where nothing does. */
  more: (() => void) | undefined;
  isMoreBusy: boolean;
}

/** A list that is read on from where it ended: "Show more" instead of page numbers. */
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
