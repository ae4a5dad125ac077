import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import { getGitConnection } from '@svc/contract/git-connections.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { useApp } from '../use-app.ts';
import { DeployNow } from './deploy-now.tsx';
import { GitConnectForm } from './git-connect-form.tsx';
import { GitConnected } from './git-connected.tsx';

/** Where deployments come from. */
export function GitCard() {
  const { params } = useApp();
  const answer = useAnswer(getGitConnection, { params }, { everyMs: 15_000 });
  return (
    <Paper withBorder p="md" component="section" aria-label="Repository">
      <Stack gap="md">
        <Group gap="sm">
          <Title order={2} size="h4">
            Repository
          </Title>
          {answer.data?.connection && (
            <StateBadge
              state={answer.data.connection.hook.state}
              label={hookTexts[answer.data.connection.hook.state]}
            />
          )}
        </Group>
        <AnswerView answer={answer} lines={2}>
          {({ connection, last_push }) =>
            connection ? (
              <GitConnected connection={connection} lastPush={last_push}>
                <DeployNow branch={connection.branch} />
              </GitConnected>
            ) : (
              <>
                <Text size="sm">
                  No repository is connected. Connect one, and each push to its branch deploys the app.
                </Text>
                <GitConnectForm />
              </>
            )
          }
        </AnswerView>
      </Stack>
    </Paper>
  );
}

const hookTexts = {
  ok: 'each push is deployed',
  waiting: 'pushes are being set up',
  failed: 'pushes are not heard of',
} as const;
