import { Button, Text } from '@mantine/core';
import { tablePath } from '@svc/contract/row-path.ts';
import { countCap } from '@svc/contract/rows.ts';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useApp } from '../use-app.ts';
import { fetchCount } from './data/rows-api.ts';

/** Counted when somebody asks: a count reads the rows, up to where it no longer matters. */
export function RowCount({ table, search = '' }: { table: string; search?: string }) {
  const { app, tenant } = useApp();
  const [isAsked, setAsked] = useState(false);
  const path = tablePath(tenant.slug, app.slug, table);
  const answer = useQuery({
    queryKey: ['rows.count', path, search],
    queryFn: ({ signal }) => fetchCount(path, new URLSearchParams(search), signal),
    enabled: isAsked,
  });
  if (isAsked && answer.data !== undefined) return <Text span>{countText(answer.data)}</Text>;
  if (answer.isError) return <Text span>not known</Text>;
  return (
    <Button
      size="compact-sm"
      variant="default"
      loading={isAsked}
      onClick={() => setAsked(true)}
      aria-label={`Count the rows of ${table}`}
    >
      Count
    </Button>
  );
}

export function countText(count: number): string {
  return count >= countCap ? `${countCap.toLocaleString('en')} or more` : count.toLocaleString('en');
}
