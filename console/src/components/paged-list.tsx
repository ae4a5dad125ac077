import { Group, Pagination } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { NewButton } from './buttons.tsx';
import { EmptyState } from './page-layout.tsx';
import { QueryView } from './query-view.tsx';
import { Hint, SecondaryButton } from './text.tsx';
import { withUrlValue } from './url-state.ts';

export interface ListPage<T> {
  items: readonly T[];
  page: number;
  per_page: number;
  total: number;
}

/** Uses the page number of the response, not of the URL: while the next page loads, the last one is still shown. */
export function PagedList<P extends ListPage<unknown>>({
  answer,
  empty,
  children,
}: {
  answer: UseQueryResult<P>;
  empty?: ReactNode;
  children: (items: P['items'], data: P) => ReactNode;
}) {
  return (
    <QueryView answer={answer}>
      {(data) => {
        if (data.items.length === 0 && data.page > 1) return <PageOutOfRange />;
        if (data.items.length === 0 && empty !== undefined) return empty;
        return (
          <>
            {children(data.items, data)}
            <Pager page={data.page} perPage={data.per_page} total={data.total} />
          </>
        );
      }}
    </QueryView>
  );
}

export function Pager({ page, perPage, total }: { page: number; perPage: number; total: number }) {
  const [, setSearch] = useSearchParams();
  const pages = Math.ceil(total / perPage);
  if (pages < 2) return null;
  const show = (next: number) =>
    setSearch((search) => {
      const changed = new URLSearchParams(search);
      if (next === 1) changed.delete('page');
      else changed.set('page', String(next));
      return changed;
    });
  return (
    <Group justify="space-between" mt="md" component="nav" aria-label="Pagination">
      <Hint>
        {(page - 1) * perPage + 1} to {Math.min(page * perPage, total)} of {total}
      </Hint>
      <Pagination
        total={pages}
        value={page}
        onChange={show}
        siblings={1}
        size="sm"
        getItemProps={(item) => ({ 'aria-label': `Page ${item}` })}
        getControlProps={(control) => ({ 'aria-label': `${control} page` })}
      />
    </Group>
  );
}

function PageOutOfRange() {
  const [path] = useLocation();
  const [search] = useSearchParams();
  const first = withUrlValue(search, 'page', '').toString();
  return (
    <EmptyState
      title="This page does not exist"
      action={
        <SecondaryButton component={Link} href={first === '' ? path : `${path}?${first}`}>
          Go to the first page
        </SecondaryButton>
      }
    >
      The list has become shorter, or the URL is wrong.
    </EmptyState>
  );
}

export function ListHead({ to, label, children }: { to: string; label: string; children?: ReactNode }) {
  return (
    <Group justify="space-between" align="flex-end" mb="md">
      <Group align="flex-end" gap="sm" className="filters">
        {children}
      </Group>
      <NewButton to={to} label={label} />
    </Group>
  );
}
