import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { AnswerView } from './answer-view.tsx';
import { Pager } from './pager.tsx';
import { PastTheEnd } from './past-the-end.tsx';

interface ListPage {
  items: readonly unknown[];
  page: number;
  per_page: number;
  total: number;
}

/**
 * A page of a list, and the way to the others. It goes by the page that was answered, not by the one asked for: while
 * the next one is on its way the last one is still shown, under its own number.
 */
export function PagedList<P extends ListPage>({
  answer,
  empty,
  children,
}: {
  answer: UseQueryResult<P>;
  /** In the place of a list without anything; left out where there always is something. */
  empty?: ReactNode;
  children: (items: P['items'], data: P) => ReactNode;
}) {
  return (
    <AnswerView answer={answer}>
      {(data) => {
        if (data.items.length === 0 && data.page > 1) return <PastTheEnd />;
        if (data.items.length === 0 && empty !== undefined) return empty;
        return (
          <>
            {children(data.items, data)}
            <Pager page={data.page} perPage={data.per_page} total={data.total} />
          </>
        );
      }}
    </AnswerView>
  );
}
