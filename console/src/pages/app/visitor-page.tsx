import { Alert, Anchor, Button, Group, Paper, Stack, Text } from '@mantine/core';
import { getCategory } from '@svc/contract/categories.ts';
import { removeAppMember } from '@svc/contract/owners.ts';
import { IconExternalLink } from '@tabler/icons-react';
import { useMe } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { useChange } from '../../change/use-change.ts';
import { ChangeButton } from '../../components/buttons.tsx';
import { DetailGrid } from '../../components/data-table.tsx';
import { AppIcon } from '../../components/display.tsx';
import { PageHead } from '../../components/page-layout.tsx';
import { ProblemAlert } from '../../components/problem-alert.tsx';
import { useApp } from './use-app.tsx';

/** People who use the app but do not run it see its purpose, its owner and a link. */
export function VisitorPage() {
  const { app, tenant } = useApp();
  const category = useEndpoint(
    getCategory,
    { params: { tenantID: tenant.id, categoryID: app.category_id ?? '' } },
    { enabled: app.category_id !== null },
  );
  const isRunning = app.url !== null && app.record === 'active' && app.runtime === 'running';
  return (
    <>
      <PageHead
        title={app.name}
        mark={<AppIcon app={app} size={64} />}
        lead={app.summary}
        actions={
          isRunning && (
            <Button
              component="a"
              href={app.url ?? ''}
              target="_blank"
              rel="noreferrer"
              size="md"
              rightSection={<IconExternalLink size={18} aria-hidden />}
            >
              Open app
            </Button>
          )
        }
      />
      <Stack maw={760}>
        {!isRunning && (
          <Alert color="yellow" title="The app does not run at the moment">
            Ask its owner when it will be back.
          </Alert>
        )}
        <Paper withBorder p="lg">
          <Stack gap="md">
            <Text style={{ whiteSpace: 'pre-wrap' }} c={app.description ? undefined : 'dimmed'}>
              {app.description || 'No description yet.'}
            </Text>
            <DetailGrid
              cols={{ base: 1, sm: 2 }}
              spacing="sm"
              details={{
                Owner: (
                  <Anchor href={`mailto:${app.owner_email}?subject=${encodeURIComponent(app.name)}`}>
                    {app.owner_name || app.owner_email}
                  </Anchor>
                ),
                Category: app.category_id !== null && (category.data?.name ?? '…'),
              }}
            />
          </Stack>
        </Paper>
        {app.relation === 'member' && <LeaveApp />}
      </Stack>
    </>
  );
}

function LeaveApp() {
  const { params } = useApp();
  const me = useMe();
  const leave = useChange(removeAppMember, {
    title: 'Leave the app',
    verb: 'Leave',
    done: 'You left the app.',
  });
  return (
    <Stack gap="xs">
      <Group>
        <ChangeButton change={leave} input={{ params: { ...params, userID: me.id } }} variant="subtle">
          Leave the app
        </ChangeButton>
      </Group>
      <ProblemAlert error={leave.problem} />
    </Stack>
  );
}
