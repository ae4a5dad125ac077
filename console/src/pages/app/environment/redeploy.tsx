import { Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { createDeployment } from '@svc/contract/deployments.ts';
import { getGitConnection } from '@svc/contract/git-connections.ts';
import { useLocation } from 'wouter';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { whyNotDeploy } from '../deployments/deployment-moves.ts';
import { useApp } from '../use-app.ts';

/** Runs the app with what was changed, by deploying the connected branch once more. */
export function Redeploy() {
  const { app, tenant, params, why } = useApp();
  const [, go] = useLocation();
  const git = useAnswer(getGitConnection, { params });
  const change = useChange(createDeployment, {
    title: `Deploy ${app.name} again`,
    verb: 'Redeploy',
    done: 'The deployment has begun.',
    onDone: ({ id }) => go(consolePaths.deployment(tenant.slug, app.slug, id)),
  });
  const unconnected = git.data?.connected
    ? null
    : 'No repository is connected; send the source again: svc deploy --from-dir . --execute';
  return (
    <Stack gap="sm" align="flex-start">
      <Text size="sm">Deploy it, and it runs with the new ones.</Text>
      <MayButton
        why={why(createDeployment) ?? whyNotDeploy(app) ?? unconnected}
        loading={change.isBusy}
        onClick={() => void change.propose({ params, body: {} })}
      >
        Redeploy
      </MayButton>
      {change.problem !== null && <ProblemAlert error={change.problem} />}
    </Stack>
  );
}
