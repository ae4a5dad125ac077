import { Anchor, Checkbox, Group, Stack, Table, Text } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import { deleteObject, type getStorage, type listObjects } from '@svc/contract/storage.ts';
import { IconFile, IconFolder } from '@tabler/icons-react';
import { Link } from 'wouter';
import { useBatch } from '../../../change/use-batch.ts';
import { ChangeButton } from '../../../components/buttons.tsx';
import { TimeText } from '../../../components/display.tsx';
import { formatBytes } from '../../../components/format.ts';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { useUrlDialog } from '../../../components/url-state.ts';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';
import { folderHref, nameWithin } from './folder-paths.ts';

/** Each file is previewed separately, so more would take long. */
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
  const { href: objectHref } = useUrlDialog('object');
  const remove = useDeleteObjects(() => choose(new Set()));
  const keys = objects.map(({ key }) => key).filter((key) => chosen.has(key));
  const reason =
    why(deleteObject) ??
    whyNotActive(app) ??
    (keys.length === 0 ? 'Select files first.' : null) ??
    (keys.length > chosenMax ? `Select at most ${chosenMax} files.` : null);
  const toggle = (key: string) => {
    const next = new Set(chosen);
    if (!next.delete(key)) next.add(key);
    choose(next);
  };
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Text size="sm" role="status">
          {keys.length === 0
            ? 'No file selected'
            : keys.length === 1
              ? '1 file selected'
              : `${keys.length} files selected`}
        </Text>
        <ChangeButton why={reason} change={remove} input={keys}>
          Delete
        </ChangeButton>
      </Group>
      <ProblemAlert error={remove.problem} />
      <Table.ScrollContainer minWidth={520}>
        <Table verticalSpacing={6} aria-label="Files">
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={40}>
                <Checkbox
                  aria-label="Select all files"
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
                    aria-label={`Select ${object.key}`}
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
                  {formatBytes(object.size)}
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

export function useDeleteObjects(onDone: () => void) {
  const { params } = useApp();
  return useBatch(deleteObject, {
    title: 'Delete files',
    done: (keys: readonly string[]) =>
      keys.length === 1 ? `${keys[0]} deleted.` : `${keys.length} files deleted.`,
    input: (key: string) => ({ params, query: { key } }),
    onDone,
  });
}

export type StorageInfo = Answer<NonNullable<typeof getStorage.shape>>;
export type StoredObject = Answer<NonNullable<typeof listObjects.shape>>['items'][number];
