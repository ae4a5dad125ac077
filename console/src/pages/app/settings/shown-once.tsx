import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { CopyText } from '../../../parts/copy-text.tsx';

/** A secret that the server has forgotten already. */
export function ShownOnce({ value, dismiss }: { value: string; dismiss: () => void }) {
  return (
    <Alert color="yellow" icon={<IconKey aria-hidden />} title="Keep the connection string now" role="alert">
      <Stack gap="sm">
        <Text size="sm">
          It has the password in it and is shown this once. Lost, the password can be changed.
        </Text>
        <CopyText value={value} label="connection string" size="xs" />
        <Group>
          <Button size="compact-sm" variant="default" onClick={dismiss}>
            I have kept it
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
