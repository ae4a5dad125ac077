import { Group, NativeSelect, Stack, Text } from '@mantine/core';
import { getObjectUrl, signedUrlSecondsMax } from '@svc/contract/storage.ts';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../../api/client.ts';
import { BusyButton } from '../../../parts/busy-button.tsx';
import { CopyText } from '../../../parts/copy-text.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';

const spans = [
  { seconds: 300, label: '5 minutes' },
  { seconds: 1_800, label: '30 minutes' },
  { seconds: signedUrlSecondsMax, label: '1 hour' },
];

/** An address for somebody who is not signed in; it ends by itself. */
export function ObjectLink({ objectKey }: { objectKey: string }) {
  const { params } = useApp();
  const [seconds, setSeconds] = useState(300);
  const link = useMutation({
    mutationFn: () => client.call(getObjectUrl, { params, query: { key: objectKey, expires_in: seconds } }),
  });
  return (
    <Stack gap="xs">
      <Group align="flex-end" gap="sm">
        <NativeSelect
          label="A link that is good for"
          value={String(seconds)}
          onChange={(event) => setSeconds(Number(event.currentTarget.value))}
          data={spans.map((span) => ({ value: String(span.seconds), label: span.label }))}
        />
        <BusyButton variant="default" loading={link.isPending} onClick={() => link.mutate()}>
          Make a link
        </BusyButton>
      </Group>
      {link.data && (
        <>
          <Text size="sm">
            Whoever has it can download the file until{' '}
            {new Date(link.data.expires_at).toLocaleTimeString(undefined, { timeStyle: 'short' })}:
          </Text>
          <CopyText value={link.data.url} label="link" size="xs" />
        </>
      )}
      {link.error && <ProblemAlert error={link.error} />}
    </Stack>
  );
}
