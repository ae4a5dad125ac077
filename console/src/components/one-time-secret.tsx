import { Alert, Group, Stack, Text } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { CopyText } from './buttons.tsx';
import { SmallButton } from './text.tsx';

interface OneTimeSecretProps {
  /** Such as `connection string`. */
  name: string;
  value: string;
  advice: string;
  dismiss: () => void;
}

export function OneTimeSecret({ name, value, advice, dismiss }: OneTimeSecretProps) {
  return (
    <Alert color="yellow" icon={<IconKey aria-hidden />} title={`Save the ${name} now`} role="alert">
      <Stack gap="sm">
        <Text size="sm">{advice}</Text>
        <CopyText value={value} label={name} size="xs" />
        <Group>
          <SmallButton onClick={dismiss}>I have saved it</SmallButton>
        </Group>
      </Stack>
    </Alert>
  );
}
