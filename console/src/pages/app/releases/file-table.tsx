import { Anchor, Table, Text, VisuallyHidden } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import type { diffRelease } from '@svc/contract/static-sites.ts';
import { Link, useSearchParams } from 'wouter';
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
    <Table.ScrollContainer minWidth={0}>
      <Table verticalSpacing={6} aria-label="Files of the release">
        <Table.Thead>
          <Table.Tr>
            <Table.Th w={110}>Change</Table.Th>
            <Table.Th>File</Table.Th>
            <Table.Th ta="end">Size</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map((item) => (
            <Table.Tr key={item.path}>
              <Table.Td>
                <StateBadge state={item.change} />
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere', minWidth: '8rem' }}>
                <Anchor component={Link} href={withFile(item.path)} className="mono" size="sm">
                  {item.path}
                </Anchor>
              </Table.Td>
              <Table.Td ta="end">
                <Sizes item={item} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
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
