import { Anchor, Checkbox, Group, Stack, Table, Text } from '@mantine/core';
import { deleteObject } from '@svc/contract/storage.ts';
import { IconFile, IconFolder } from '@tabler/icons-react';
import { Link, useSearchParams } from 'wouter';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';
import { folderHref } from './folder-crumbs.tsx';
import { nameWithin } from './folder-paths.ts';
import type { StoredObject } from './storage-view.ts';
import { useDeleteObjects } from './use-delete-objects.ts';

/** Previewed one by one: more than these at once would take long. */
const chosenMax = 200;

export function ObjectTable({
  prefix,
  folders,
  objects,
  chosen,
  choose,
}: {
  prefix: string;
  folders: readonly string[];
  objects: readonly StoredObject[];
  chosen: ReadonlySet<string>;
  choose: (keys: ReadonlySet<string>) => void;
}) {
  const { app, why } = useApp();
  const [search] = useSearchParams();
  const remove = useDeleteObjects(() => choose(new Set()));
  const keys = objects.map(({ key }) => key).filter((key) => chosen.has(key));
  const reason =
    why(deleteObject) ??
    whyNotActive(app) ??
    (keys.length === 0 ? 'Choose files first.' : null) ??
    (keys.length > chosenMax ? `Choose ${chosenMax} files at most.` : null);
  const toggle = (key: string) => {
    const next = new Set(chosen);
    if (!next.delete(key)) next.add(key);
    choose(next);
  };
  const objectHref = (key: string) => {
    const next = new URLSearchParams(search);
    next.set('object', key);
    return `?${next}`;
  };
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Text size="sm" role="status">
          {keys.length === 0
            ? 'Nothing chosen'
            : keys.length === 1
              ? '1 file chosen'
              : `${keys.length} files chosen`}
        </Text>
        <MayButton
          variant="default"
          why={reason}
          loading={remove.isBusy}
          onClick={() => void remove.propose(keys)}
        >
          Delete
        </MayButton>
      </Group>
      {remove.problem !== null && <ProblemAlert error={remove.problem} />}
      <Table.ScrollContainer minWidth={520}>
        <Table verticalSpacing={6} aria-label="Files">
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={40}>
                <Checkbox
                  aria-label="Choose all files"
                  checked={objects.length > 0 && keys.length === objects.length}
                  indeterminate={keys.length > 0 && keys.length < objects.length}
                  disabled={objects.length === 0}
                  onChange={() =>
                    choose(
                      keys.length === objects.length ? new Set() : new Set(objects.map(({ key }) => key)),
                    )
                  }
                />
              </Table.Th>
              <Table.Th>Name</Table.Th>
              <Table.Th>Type</Table.Th>
              <Table.Th ta="end">Size</Table.Th>
              <Table.Th>Changed</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {folders.map((folder) => (
              <Table.Tr key={folder}>
                <Table.Td />
                <Table.Td colSpan={4}>
                  <Group gap={6} wrap="nowrap">
                    <IconFolder size={18} aria-label="Folder" />
                    <Anchor component={Link} href={folderHref(folder)}>
                      {nameWithin(prefix, folder)}
                    </Anchor>
                  </Group>
                </Table.Td>
              </Table.Tr>
            ))}
            {objects.map((object) => (
              <Table.Tr key={object.key}>
                <Table.Td>
                  <Checkbox
                    aria-label={`Choose ${object.key}`}
                    checked={chosen.has(object.key)}
                    onChange={() => toggle(object.key)}
                  />
                </Table.Td>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  <Group gap={6} wrap="nowrap">
                    <IconFile size={18} aria-hidden style={{ flexShrink: 0 }} />
                    <Anchor component={Link} href={objectHref(object.key)}>
                      {nameWithin(prefix, object.key)}
                    </Anchor>
                  </Group>
                </Table.Td>
                <Table.Td>{object.content_type}</Table.Td>
                <Table.Td ta="end" style={{ whiteSpace: 'nowrap' }}>
                  {readableBytes(object.size)}
                </Table.Td>
                <Table.Td>
                  <TimeText value={object.updated_at} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Stack>
  );
}
