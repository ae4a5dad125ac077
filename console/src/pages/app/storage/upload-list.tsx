import { Button, Group, Progress, Stack, Text } from '@mantine/core';
import { percentOf } from '../../../parts/percent-of.ts';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import type { Upload } from './use-uploads.ts';

export function UploadList({
  uploads,
  stop,
  clear,
}: {
  uploads: readonly Upload[];
  stop: () => void;
  clear: () => void;
}) {
  if (uploads.length === 0) return null;
  const isUnderWay = uploads.some(({ state }) => state === 'sending');
  return (
    <Stack gap="xs" aria-label="Uploads" role="group">
      {uploads.map((upload) => (
        <Stack key={upload.key} gap={2}>
          <Group justify="space-between" gap="xs">
            <Text size="sm" className="mono" miw={0}>
              {upload.key}
            </Text>
            <Text size="sm">{textOf(upload)}</Text>
          </Group>
          <Progress.Root size="sm">
            <Progress.Section
              value={percentOf(upload.sent, upload.size)}
              color={upload.state === 'failed' ? 'red' : undefined}
              aria-label={`Upload of ${upload.key}`}
            />
          </Progress.Root>
          {upload.problem !== null && <ProblemAlert error={upload.problem} />}
        </Stack>
      ))}
      <Group>
        {isUnderWay ? (
          <Button size="compact-sm" variant="default" onClick={stop}>
            Stop
          </Button>
        ) : (
          <Button size="compact-sm" variant="default" onClick={clear}>
            Hide
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function textOf({ state, sent, size }: Upload): string {
  if (state === 'sending') return `${readableBytes(sent)} of ${readableBytes(size)}`;
  return { done: 'there', stopped: 'stopped', failed: 'failed' }[state];
}
