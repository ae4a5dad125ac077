import { Group, Stack } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { cancelDeployment, createDeployment, rollbackDeployment } from '@svc/contract/deployments.ts';
import { getGitConnection } from '@svc/contract/git-connections.ts';
import { useLocation } from 'wouter';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';
import { whyNotCancel, whyNotDeploy, whyNotRedeploy, whyNotRollBack } from './deployment-moves.ts';
import type { Deployment } from './deployment-phases.ts';

export function DeploymentActions({ deployment }: { deployment: Deployment }) {
  const { app, tenant, params, why } = useApp();
  const [, go] = useLocation();
  const git = useAnswer(getGitConnection, { params });
  const one = { ...params, deployment: deployment.id };
  const onDone = ({ id }: { id: string }) => go(consolePaths.deployment(tenant.slug, app.slug, id));
  const cancel = useChange(cancelDeployment, {
    title: `Stop deployment #${deployment.seq}`,
    verb: 'Stop it',
    done: 'The deployment is being stopped.',
  });
  const rollBack = useChange(rollbackDeployment, {
    title: `Go back to deployment #${deployment.seq}`,
    verb: 'Roll back',
    done: 'The way back has begun.',
    onDone,
  });
  const again = useChange(createDeployment, {
    title: `Deploy the commit of #${deployment.seq} again`,
    verb: 'Redeploy',
    done: 'The deployment has begun.',
    onDone,
  });
  const problem = cancel.problem ?? rollBack.problem ?? again.problem;
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <MayButton
          variant="default"
          why={why(cancelDeployment) ?? whyNotCancel(deployment)}
          loading={cancel.isBusy}
          onClick={() => void cancel.propose({ params: one })}
        >
          Cancel
        </MayButton>
        <MayButton
          variant="default"
          why={why(rollbackDeployment) ?? whyNotRollBack(deployment) ?? whyNotDeploy(app)}
          loading={rollBack.isBusy}
          onClick={() => void rollBack.propose({ params: one })}
        >
          Roll back to this
        </MayButton>
        <MayButton
          variant="default"
          why={
            why(createDeployment) ??
            whyNotDeploy(app) ??
            whyNotRedeploy(deployment, git.data?.connected ?? false)
          }
          loading={again.isBusy}
          onClick={() => void again.propose({ params, body: { ref: deployment.commit ?? '' } })}
        >
          Redeploy
        </MayButton>
      </Group>
      {problem !== null && <ProblemAlert error={problem} />}
    </Stack>
  );
}
