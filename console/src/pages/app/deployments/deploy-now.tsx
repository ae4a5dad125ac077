import { Group, Stack, TextInput } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { createDeployment } from '@svc/contract/deployments.ts';
import { IconRocket } from '@tabler/icons-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';
import { whyNotDeploy } from './deployment-moves.ts';

/** Deploys what the connected repository holds now. */
export function DeployNow({ branch }: { branch: string }) {
  const { app, tenant, params, why } = useApp();
  const [, go] = useLocation();
  const [ref, setRef] = useState('');
  const change = useChange(createDeployment, {
    title: `Deploy ${app.name}`,
    verb: 'Deploy',
    done: 'The deployment has begun.',
    onDone: ({ id }) => go(consolePaths.deployment(tenant.slug, app.slug, id)),
  });
  return (
    <Stack gap="sm">
      <Group align="flex-end" gap="sm">
        <TextInput
          label="Branch, tag or commit"
          placeholder={branch}
          value={ref}
          error={change.errorOf('ref')}
          onChange={(event) => setRef(event.currentTarget.value)}
          style={{ flex: '0 1 16rem' }}
        />
        <MayButton
          why={why(createDeployment) ?? whyNotDeploy(app)}
          loading={change.isBusy}
          leftSection={<IconRocket size={16} aria-hidden />}
          onClick={() => void change.propose({ params, body: ref.trim() === '' ? {} : { ref: ref.trim() } })}
        >
          Deploy now
        </MayButton>
      </Group>
      {change.problem !== null && <ProblemAlert error={change.problem} />}
    </Stack>
  );
}
