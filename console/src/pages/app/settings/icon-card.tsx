import { Avatar, Center, FileButton, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { updateApp } from '@svc/contract/apps.ts';
import { iconBytesMax, iconSideMax, iconTypes, type iconVariants, signIcon } from '@svc/contract/icons.ts';
import { useState } from 'react';
import { client } from '../../../api/client.ts';
import { usePropose } from '../../../change/change-dialog.tsx';
import { useChange, useTask } from '../../../change/use-change.ts';
import { ActionButton, ChangeButton } from '../../../components/buttons.tsx';
import { Section } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { BoldText } from '../../../components/text.tsx';
import { useToast } from '../../../components/toasts.tsx';
import { putFile } from '../files/put-file.ts';
import { useApp } from '../use-app.tsx';
import { useWhyNotUpdate } from './app-forms.tsx';

export function IconCard() {
  return (
    <Section
      title="Icon"
      lead={`PNG, JPEG, WebP or GIF of at most ${iconBytesMax / 1024 ** 2} MB and ${iconSideMax} pixels on each side. Without a dark icon the light one is used everywhere.`}
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <IconSlot variant="light" />
        <IconSlot variant="dark" />
      </SimpleGrid>
    </Section>
  );
}

const backgrounds = { light: '#ffffff', dark: '#1f1f1f' } as const;

function IconSlot({ variant }: { variant: (typeof iconVariants)[number] }) {
  const { app, params } = useApp();
  const field = variant === 'light' ? 'icon_url' : 'icon_dark_url';
  const url = app[field];
  const noUpdate = useWhyNotUpdate();
  const upload = useIconUpload(variant);
  const remove = useChange(updateApp, { title: 'Remove the icon', done: 'Icon removed.' });
  return (
    <Group wrap="nowrap" align="flex-start">
      <Center
        p="sm"
        bg={backgrounds[variant]}
        style={{ border: '1px solid var(--mantine-color-default-border)', borderRadius: 8 }}
      >
        <Avatar src={url} name={app.name} size={64} radius="md" color="initials" alt="" />
      </Center>
      <Stack gap="xs">
        <BoldText>On {variant} background</BoldText>
        <Group gap="xs">
          <FileButton
            accept={iconTypes.join(',')}
            onChange={(file) => file && void upload.choose(file)}
            inputProps={{ 'aria-label': `Icon for ${variant} background` }}
          >
            {(props) => (
              <ActionButton
                size="compact-sm"
                why={noUpdate}
                loading={upload.isBusy}
                aria-label={`Upload an icon for ${variant} background`}
                onClick={props.onClick}
              >
                Upload
              </ActionButton>
            )}
          </FileButton>
          <ChangeButton
            size="compact-sm"
            why={noUpdate ?? (url === null ? 'There is no icon.' : null)}
            aria-label={`Remove the icon for ${variant} background`}
            change={remove}
            input={{ params, body: { [field]: null } }}
          >
            Remove
          </ChangeButton>
        </Group>
        {upload.refused && (
          <Text size="sm" c="red" role="alert">
            {upload.refused}
          </Text>
        )}
        <ProblemAlert error={upload.problem} />
        <ProblemAlert error={remove.problem} />
      </Stack>
    </Group>
  );
}

/** The signed upload URL comes with the plan, so the upload does what was confirmed. */
function useIconUpload(variant: (typeof iconVariants)[number]) {
  const { params } = useApp();
  const open = usePropose();
  const showToast = useToast();
  const { run, clear, isBusy, problem } = useTask();
  const [refused, setRefused] = useState<string | null>(null);

  async function choose(file: File) {
    clear();
    const type = iconTypes.find((one) => one === file.type);
    const reason = !type
      ? 'The file is not a PNG, JPEG, WebP or GIF image.'
      : file.size > iconBytesMax
        ? `The file is larger than ${iconBytesMax / 1024 ** 2} MB.`
        : null;
    setRefused(reason);
    if (!type || reason !== null) return;
    const sign = () => client.call(signIcon, { params, body: { content_type: type, variant } });
    await run(async () => {
      let upload = await sign();
      open({
        title: `Upload ${file.name}`,
        plan: upload.plan,
        previewAgain: async () => {
          upload = await sign();
          return upload.plan;
        },
        execute: async (fingerprint) => {
          await putFile(upload.put_url, file, {
            headers: { 'content-type': type, 'if-plan': fingerprint },
            signal: new AbortController().signal,
            onProgress: () => {},
          });
          showToast('Icon uploaded.');
        },
      });
    });
  }

  return { choose, isBusy, refused, problem };
}
