import { Alert, Anchor, Button, Group, Stack, Text } from '@mantine/core';
import type { getBootstrap } from '@svc/contract/bootstrap.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { IconAlertCircle, IconCheck } from '@tabler/icons-react';
import { Link } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { CopyText } from '../../parts/copy-text.tsx';

type Run = Answer<NonNullable<typeof getBootstrap.shape>>;

/** What there is now, and what can be done with it. */
export function RunEnd({ run }: { run: Run }) {
  const tenant = useTenant();
  if (run.state === 'done')
    return (
      <Alert color="green" icon={<IconCheck aria-hidden />} title="The app is there" role="status">
        <Stack gap="sm">
          <Group gap="md">
            <Button component={Link} href={consolePaths.app(tenant.slug, run.slug)} size="compact-md">
              To the app’s page
            </Button>
            {run.url !== null && (
              <Anchor href={run.url} target="_blank" rel="noreferrer" c="inherit" td="underline">
                Open it
              </Anchor>
            )}
          </Group>
          {run.clone_url !== null && (
            <div>
              <Text size="sm">Its code, to work on:</Text>
              <CopyText value={`git clone ${run.clone_url}`} label="clone command" />
            </div>
          )}
        </Stack>
      </Alert>
    );
  return (
    <Alert
      color="red"
      icon={<IconAlertCircle aria-hidden />}
      title={run.state === 'canceled' ? 'It was stopped' : 'It failed'}
      role="alert"
    >
      <Stack gap="sm">
        {run.failure && (
          <Text size="sm">
            {run.failure.detail} (<span className="mono">{run.failure.code}</span>)
          </Text>
        )}
        {run.undo.length > 0 && (
          <div>
            <Text size="sm">What was made is still there. To remove it:</Text>
            {run.undo.map((line) => (
              <CopyText key={line} value={line} label="command" />
            ))}
          </div>
        )}
      </Stack>
    </Alert>
  );
}
