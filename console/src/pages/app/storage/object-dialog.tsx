import { Button, Code, Group, Image, Modal, NativeSelect, Stack, Text } from '@mantine/core';
import { deleteObject, getObjectUrl, signedUrlSecondsMax } from '@svc/contract/storage.ts';
import { IconDownload } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { client, isCode } from '../../../api/client.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { BusyButton, ChangeButton, CopyText } from '../../../components/buttons.tsx';
import { TimeText } from '../../../components/display.tsx';
import { formatBytes } from '../../../components/format.ts';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Hint } from '../../../components/text.tsx';
import { useUrlDialog } from '../../../components/url-state.ts';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';
import { previewKind } from './folder-paths.ts';
import { useDeleteObjects } from './object-table.tsx';

export function ObjectDialog() {
  const { value: key, close } = useUrlDialog('object');
  return (
    <Modal opened={key !== null} onClose={close} title={key} size="xl">
      {key !== null && <ObjectDetails objectKey={key} close={close} />}
    </Modal>
  );
}

/** Must be shorter than the lifetime of the signed URL. */
const renewMs = 4 * 60_000;

function ObjectDetails({ objectKey, close }: { objectKey: string; close: () => void }) {
  const { app, params, why } = useApp();
  const answer = useEndpoint(getObjectUrl, { params, query: { key: objectKey } }, { refetchMs: renewMs });
  const remove = useDeleteObjects(close);
  if (isCode(answer.error, 'not_found')) return <Text>This file no longer exists.</Text>;
  return (
    <QueryView answer={answer}>
      {(object) => (
        <Stack>
          <Text size="sm">
            {object.content_type}, {formatBytes(object.size)}, changed <TimeText value={object.updated_at} />
          </Text>
          <Group gap="sm">
            <Button
              component="a"
              href={object.url}
              download
              leftSection={<IconDownload size={16} aria-hidden />}
            >
              Download
            </Button>
            <ChangeButton why={why(deleteObject) ?? whyNotActive(app)} change={remove} input={[objectKey]}>
              Delete
            </ChangeButton>
          </Group>
          <ProblemAlert error={remove.problem} />
          <ObjectLink objectKey={objectKey} />
          <ObjectPreview object={object} />
        </Stack>
      )}
    </QueryView>
  );
}

const spans = [
  { seconds: 300, label: '5 minutes' },
  { seconds: 1_800, label: '30 minutes' },
  { seconds: signedUrlSecondsMax, label: '1 hour' },
];

function ObjectLink({ objectKey }: { objectKey: string }) {
  const { params } = useApp();
  const [seconds, setSeconds] = useState(300);
  const link = useMutation({
    mutationFn: () => client.call(getObjectUrl, { params, query: { key: objectKey, expires_in: seconds } }),
  });
  return (
    <Stack gap="xs">
      <Group align="flex-end" gap="sm">
        <NativeSelect
          label="Link valid for"
          value={String(seconds)}
          onChange={(event) => setSeconds(Number(event.currentTarget.value))}
          data={spans.map((span) => ({ value: String(span.seconds), label: span.label }))}
        />
        <BusyButton variant="default" loading={link.isPending} onClick={() => link.mutate()}>
          Create link
        </BusyButton>
      </Group>
      {link.data && (
        <>
          <Text size="sm">
            Anyone with the link can download the file until{' '}
            {new Date(link.data.expires_at).toLocaleTimeString(undefined, { timeStyle: 'short' })}:
          </Text>
          <CopyText value={link.data.url} label="link" size="xs" />
        </>
      )}
      <ProblemAlert error={link.error} />
    </Stack>
  );
}

function ObjectPreview({
  object,
}: {
  object: { key: string; url: string; sha256: string; content_type: string; size: number };
}) {
  switch (previewKind(object)) {
    case 'image':
      return <Image src={object.url} alt={`Preview of ${object.key}`} mah="50vh" fit="contain" w="auto" />;
    case 'text':
      return <TextPreview url={object.url} digest={object.sha256} />;
    case null:
      return <Hint>No preview for files of this type or size. Download the file to view it.</Hint>;
  }
}

function TextPreview({ url, digest }: { url: string; digest: string }) {
  const answer = useQuery({
    queryKey: ['text of an object', digest],
    queryFn: async ({ signal }) => {
      const response = await fetch(url, { signal });
      if (!response.ok) throw new TypeError('The file could not be read.');
      return response.text();
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <QueryView answer={answer} lines={4}>
      {(text) => (
        <Code
          block
          mah="50vh"
          tabIndex={0}
          role="region"
          aria-label="File content"
          style={{ overflow: 'auto', whiteSpace: 'pre-wrap' }}
        >
          {text}
        </Code>
      )}
    </QueryView>
  );
}
