import { Anchor, Text, VisuallyHidden } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import type { diffRelease } from '@svc/contract/static-sites.ts';
import { Link, useSearchParams } from 'wouter';
import { DataTable } from '../../../parts/data-table.tsx';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import { StateBadge } from '../../../parts/state-badge.tsx';

export type FileDiff = Answer<NonNullable<typeof diffRelease.shape>>['items'][number];

export function FileTable({ items }: { items: readonly FileDiff[] }) {
  const [search] = useSearchParams();
  const withFile = (path: string) => {
    const next = new URLSearchParams(search);
    next.set('file', path);
    return `?${next}`;
  };
  return (
    <DataTable
      label="Files of the release"
      minWidth={0}
      highlightOnHover={false}
      verticalSpacing={6}
      rows={items}
      keyOf={({ path }) => path}
      columns={[
        { head: 'Change', cell: ({ change }) => <StateBadge state={change} />, th: { w: 110 } },
        {
          head: 'File',
          cell: ({ path }) => (
            <Anchor component={Link} href={withFile(path)} className="mono" size="sm">
              {path}
            </Anchor>
          ),
          td: { style: { overflowWrap: 'anywhere', minWidth: '8rem' } },
        },
        { head: 'Size', cell: (item) => <Sizes item={item} />, th: { ta: 'end' }, td: { ta: 'end' } },
      ]}
    />
  );
}

function Sizes({ item: { change, size, before_size } }: { item: FileDiff }) {
  return (
    <Text size="sm" pos="relative">
      {change !== 'added' && change !== 'same' && before_size !== null && readableBytes(before_size)}
      {change === 'changed' && (
        <>
          <VisuallyHidden> before, now </VisuallyHidden>
          <span aria-hidden> → </span>
        </>
      )}
      {size !== null && readableBytes(size)}
    </Text>
  );
}
