import { Group, Stack, Text, TextInput } from '@mantine/core';
import {
  cancelDeployment,
  createDeployment,
  restartApp,
  rollbackDeployment,
} from '@svc/contract/deployments.ts';
import { getGitConnection } from '@svc/contract/git-connections.ts';
import { IconRocket } from '@tabler/icons-react';
import { useLocation } from 'wouter';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ChangeButton } from '../../../components/buttons.tsx';
import { FormElement, SubmitButton } from '../../../components/form-card.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { useForm } from '../../../components/use-form.ts';
import { useApp } from '../use-app.tsx';
import {
  type Deployment,
  whyNotCancel,
  whyNotDeploy,
  whyNotRedeploy,
  whyNotRestart,
  whyNotRollBack,
} from './deployment.ts';

export function DeploymentActions({ deployment }: { deployment: Deployment }) {
  const { app, params, why, paths } = useApp();
  const [, go] = useLocation();
  const git = useEndpoint(getGitConnection, { params });
  const one = { ...params, deployment: deployment.id };
  const onDone = ({ id }: { id: string }) => go(paths.deployment(id));
  const cancel = useChange(cancelDeployment, {
    title: `Cancel deployment #${deployment.seq}`,
    verb: 'Cancel deployment',
    done: 'Deployment is being cancelled.',
  });
  const rollBack = useChange(rollbackDeployment, {
    title: `Roll back to deployment #${deployment.seq}`,
    verb: 'Roll back',
    done: 'Rollback started.',
    onDone,
  });
  const restart = useChange(restartApp, {
    title: `Restart ${app.name}`,
    verb: 'Restart',
    done: 'Restart started.',
    onDone,
  });
  const again = useChange(createDeployment, {
    title: `Redeploy the commit of #${deployment.seq}`,
    done: 'Deployment started.',
    onDone,
  });
  const problem = cancel.problem ?? rollBack.problem ?? restart.problem ?? again.problem;
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <ChangeButton
          why={why(cancelDeployment) ?? whyNotCancel(deployment)}
          change={cancel}
          input={{ params: one }}
        >
          Cancel
        </ChangeButton>
        <ChangeButton
          why={why(rollbackDeployment) ?? whyNotRollBack(deployment) ?? whyNotDeploy(app)}
          change={rollBack}
          input={{ params: one }}
        >
          Roll back to this
        </ChangeButton>
        <ChangeButton
          why={why(restartApp) ?? whyNotRestart(deployment) ?? whyNotDeploy(app)}
          change={restart}
          input={{ params }}
        >
          Restart
        </ChangeButton>
        <ChangeButton
          why={
            why(createDeployment) ??
            whyNotDeploy(app) ??
            whyNotRedeploy(deployment, git.data?.connected ?? false)
          }
          change={again}
          input={{ params, body: { ref: deployment.commit ?? '' } }}
        >
          Redeploy
        </ChangeButton>
      </Group>
      <ProblemAlert error={problem} />
    </Stack>
  );
}

export function DeployNow({ branch }: { branch: string }) {
  const { app, params, why, paths } = useApp();
  const [, go] = useLocation();
  const record = { ref: '' };
  const form = useForm(createDeployment, record, {
    title: `Deploy ${app.name}`,
    done: 'Deployment started.',
    onDone: ({ id }) => go(paths.deployment(id)),
    whyNot: () => why(createDeployment) ?? whyNotDeploy(app),
    input: ({ ref }) => ({ params, body: { ref: ref.trim() || undefined } }),
  });
  return (
    <FormElement form={form}>
      <Stack gap="sm">
        <Group align="flex-end" gap="sm">
          <TextInput
            {...form.field('ref')}
            label="Branch, tag or commit"
            placeholder={branch}
            style={{ flex: '0 1 16rem' }}
          />
          <SubmitButton form={form} icon={IconRocket}>
            Deploy now
          </SubmitButton>
        </Group>
        <ProblemAlert error={form.problem} />
      </Stack>
    </FormElement>
  );
}

export function Redeploy() {
  const { app, params, why, paths } = useApp();
  const [, go] = useLocation();
  const git = useEndpoint(getGitConnection, { params });
  const change = useChange(createDeployment, {
    title: `Deploy ${app.name} again`,
    verb: 'Redeploy',
    done: 'Deployment started.',
    onDone: ({ id }) => go(paths.deployment(id)),
  });
  const unconnected = git.data?.connected
    ? null
    : `No repository is connected. Upload the source again: svc deploy --app ${app.slug} --from-dir . --execute`;
  return (
    <Stack gap="sm" align="flex-start">
      <Text size="sm">Redeploy the app to apply them.</Text>
      <ChangeButton
        variant="filled"
        why={why(createDeployment) ?? whyNotDeploy(app) ?? unconnected}
        change={change}
        input={{ params, body: {} }}
      >
        Redeploy
      </ChangeButton>
      <ProblemAlert error={change.problem} />
    </Stack>
  );
}
