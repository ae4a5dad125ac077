import { Avatar, Center, FileButton, Group, Stack, Text } from '@mantine/core';
import { updateApp } from '@svc/contract/apps.ts';
import { iconTypes, type iconVariants } from '@svc/contract/icons.ts';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';
import { useIconUpload } from './use-icon-upload.ts';
import { useWhyNoUpdate } from './use-why-no-update.ts';

const grounds = { light: '#ffffff', dark: '#1f1f1f' } as const;

/** One of the two icons, on the ground it is for. */
export function IconSlot({ variant }: { variant: (typeof iconVariants)[number] }) {
  const { app, params } = useApp();
  const field = variant === 'light' ? 'icon_url' : 'icon_dark_url';
  const url = app[field];
  const noUpdate = useWhyNoUpdate();
  const upload = useIconUpload(variant);
  const remove = useChange(updateApp, {
    title: 'Remove the icon',
    verb: 'Remove',
    done: 'The icon is removed.',
  });
  return (
    <Group wrap="nowrap" align="flex-start">
      <Center
        p="sm"
        bg={grounds[variant]}
        style={{ border: '1px solid var(--mantine-color-default-border)', borderRadius: 8 }}
      >
        <Avatar src={url} name={app.name} size={64} radius="md" color="initials" alt="" />
      </Center>
      <Stack gap="xs">
        <Text size="sm" fw={600}>
          On {variant} ground
        </Text>
        <Group gap="xs">
          <FileButton
            accept={iconTypes.join(',')}
            onChange={(file) => file && void upload.choose(file)}
            inputProps={{ 'aria-label': `Icon for ${variant} ground` }}
          >
            {(props) => (
              <MayButton
                size="compact-sm"
                variant="default"
                why={noUpdate}
                loading={upload.isBusy}
                aria-label={`Upload an icon for ${variant} ground`}
                onClick={props.onClick}
              >
                Upload
              </MayButton>
            )}
          </FileButton>
          <MayButton
            size="compact-sm"
            variant="default"
            why={noUpdate ?? (url === null ? 'There is none.' : null)}
            loading={remove.isBusy}
            aria-label={`Remove the icon for ${variant} ground`}
            onClick={() => void remove.propose({ params, body: { [field]: null } })}
          >
            Remove
          </MayButton>
        </Group>
        {upload.refused && (
          <Text size="sm" c="red" role="alert">
            {upload.refused}
          </Text>
        )}
        {upload.problem !== null && <ProblemAlert error={upload.problem} />}
        {remove.problem !== null && <ProblemAlert error={remove.problem} />}
      </Stack>
    </Group>
  );
}
