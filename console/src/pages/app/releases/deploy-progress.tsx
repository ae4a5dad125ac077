import { Alert, Anchor, Button, Group, Progress, Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { BusyButton } from '../../../parts/busy-button.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { percentOf } from '../../../parts/percent-of.ts';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import { useApp } from '../use-app.ts';
import type { DeployStage } from './use-folder-deploy.ts';

export function DeployProgress({
  stage,
  isBusy,
  cancel,
  end,
}: {
  stage: DeployStage;
  isBusy: boolean;
  cancel: () => void;
  end: (release: string) => Promise<void>;
}) {
  const { app, tenant } = useApp();
  switch (stage.at) {
    case 'choosing':
      return null;
    case 'reading':
    case 'sending': {
      const { bytes, total } = stage;
      const label = stage.at === 'reading' ? 'Reading the files' : 'Sending what the server does not have';
      return (
        <Stack gap={4}>
          <Text size="sm" role="status">
            {label}: {readableBytes(bytes)} of {readableBytes(total)}
          </Text>
          <Group wrap="nowrap">
            <Progress.Root flex={1}>
              <Progress.Section value={percentOf(bytes, total)} aria-label={label} />
            </Progress.Root>
            <Button size="compact-sm" variant="default" onClick={cancel}>
              Stop
            </Button>
          </Group>
        </Stack>
      );
    }
    case 'sent':
      return (
        <Alert color="blue" title="All files are there">
          <Group>
            <Text size="sm">Nobody sees them before you finish the release.</Text>
            <BusyButton size="compact-sm" loading={isBusy} onClick={() => void end(stage.release)}>
              Finish the release
            </BusyButton>
          </Group>
        </Alert>
      );
    case 'done':
      return (
        <Alert color="green" title="Deployed">
          <Group>
            <Text size="sm">{stage.text}</Text>
            {stage.url && (
              <Anchor size="sm" href={stage.url} target="_blank" rel="noreferrer">
                Open it
              </Anchor>
            )}
            <LinkTo size="sm" to={consolePaths.release(tenant.slug, app.slug, stage.release)}>
              The release
            </LinkTo>
          </Group>
        </Alert>
      );
    case 'stopped':
      return (
        <Stack gap="xs">
          <Alert color="yellow" title="Stopped">
            What has arrived is kept. Deploy the same folder again, and it goes on from there.
          </Alert>
          {stage.problem !== null && <ProblemAlert error={stage.problem} />}
        </Stack>
      );
  }
}
