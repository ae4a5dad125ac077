import { Alert, Button, Code, CopyButton, Group, Modal, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconCopy } from '@tabler/icons-react';
import { useReturnedFocus } from '../../parts/use-returned-focus.ts';

/** The one time that the secret is seen: it goes away by a button alone, never by a slip of the hand. */
export function SecretDialog({ secret, close }: { secret: string; close: () => void }) {
  useReturnedFocus();
  return (
    <Modal
      opened
      onClose={close}
      title="Your new token"
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />}>
          Copy it now: it is shown this once and kept nowhere. Put it where your program reads its secrets,
          never into its code.
        </Alert>
        <Code block aria-label="The token" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {secret}
        </Code>
        <Group>
          <CopyButton value={secret}>
            {({ copied, copy }) => (
              <Button
                variant="default"
                onClick={copy}
                leftSection={
                  copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />
                }
                data-autofocus
              >
                {copied ? 'Copied' : 'Copy token'}
              </Button>
            )}
          </CopyButton>
        </Group>
        <Text size="sm" c="dimmed">
          Send it with each request: <Code>X-Api-Key: &lt;API_KEY&gt;</Code>. The command line takes it from{' '}
          <Code>SVC_API_KEY</Code>.
        </Text>
        <Group justify="flex-end">
          <Button onClick={close}>I have kept it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
