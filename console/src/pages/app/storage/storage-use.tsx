import { Group, Progress, Stack, Text } from '@mantine/core';
import { percentOf } from '../../../parts/percent-of.ts';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import type { StorageView } from './storage-view.ts';

export function StorageUse({ storage }: { storage: StorageView }) {
  const { objects, bytes, bytes_max: max } = storage;
  return (
    <Stack gap={4} mb="lg">
      <Group justify="space-between" gap="xs">
        <Text size="sm">{objects === 1 ? '1 file' : `${objects} files`}</Text>
        <Text size="sm">
          {readableBytes(bytes)} of {readableBytes(max)}
        </Text>
      </Group>
      <Progress.Root size="sm">
        <Progress.Section value={percentOf(bytes, max)} aria-label="Space in use" />
      </Progress.Root>
    </Stack>
  );
}
