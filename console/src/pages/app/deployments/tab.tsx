import { Alert, Group, Loader, Paper, SimpleGrid, Stack, Text, ThemeIcon } from '@mantine/core';
import { getDeployment, listDeployments, readBuildLog } from '@svc/contract/deployments.ts';
import { IconAlertCircle, IconCheck, IconMinus, IconPlayerStop, IconX } from '@tabler/icons-react';
import { useParams } from 'wouter';
import { client, isMissing } from '../../../api/client.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { CopyText } from '../../../components/buttons.tsx';
import { DetailGrid } from '../../../components/data-table.tsx';
import { TimeText } from '../../../components/display.tsx';
import { BackLink, ItemHead, LinkTo, Restricted } from '../../../components/page-layout.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading, Hint } from '../../../components/text.tsx';
import { NotFound } from '../../../layout/not-found.tsx';
import { LogView } from '../logs/log-box.tsx';
import { useLog } from '../logs/use-log.ts';
import { restrictedTab, useApp, usePersonNames } from '../use-app.tsx';
import { DeploymentActions } from './deploy-buttons.tsx';
import {
  type Deployment,
  deploymentPhases,
  formatDuration,
  isInProgress,
  type Phase,
  stepTexts,
  triggerText,
} from './deployment.ts';
import { DeploymentList, useRefreshApp } from './deployment-list.tsx';

export default restrictedTab(listDeployments, 'the deployments', DeploymentsTab);

function DeploymentsTab() {
  const { part } = useParams<{ part?: string }>();
  return part === undefined ? <DeploymentList /> : <DeploymentView key={part} id={part} />;
}

function DeploymentView({ id }: { id: string }) {
  const { params, why, paths } = useApp();
  const answer = useEndpoint(
    getDeployment,
    { params: { ...params, deployment: id } },
    { refetchMs: (last) => (last === undefined || isInProgress(last) ? 1_000 : 15_000) },
  );
  useRefreshApp(answer.data?.state);
  if (isMissing(answer.error)) return <NotFound error={answer.error} />;
  return (
    <Stack gap="md">
      <BackLink to={paths.app('deployments')}>All deployments</BackLink>
      <QueryView answer={answer} lines={8}>
        {(deployment) => (
          <>
            <ItemHead title={`Deployment #${deployment.seq}`} state={deployment.state}>
              <DeploymentActions deployment={deployment} />
            </ItemHead>
            {deployment.failure && (
              <Alert
                color="red"
                icon={<IconAlertCircle aria-hidden />}
                title={`Failed while ${stepTexts[deployment.failure.step]}`}
              >
                <Text size="sm">{deployment.failure.detail}</Text>
                <Text size="xs" className="mono">
                  {deployment.failure.code}
                </Text>
                <Text size="sm">The previous deployment, if any, stays live.</Text>
              </Alert>
            )}
            <DeploymentSteps phases={deploymentPhases(deployment, new Date())} />
            <DeploymentDetails deployment={deployment} />
            <Restricted why={why(readBuildLog)} what="the build log">
              <BuildLog deployment={deployment} />
            </Restricted>
          </>
        )}
      </QueryView>
    </Stack>
  );
}

function DeploymentDetails({ deployment: one }: { deployment: Deployment }) {
  const { paths } = useApp();
  const nameOf = usePersonNames();
  return (
    <DetailGrid
      cols={{ base: 1, xs: 2, md: 3 }}
      spacing="sm"
      details={{
        Started: <TimeText value={one.created_at} />,
        By: nameOf(one.created_by) ?? triggerText(one),
        Repository: one.repo && (one.ref ? `${one.repo}, ${one.ref}` : one.repo),
        Commit: one.commit && <CopyText value={one.commit} label="commit" />,
        Message: one.commit_message?.split('\n')[0] || null,
        Source: one.source === 'upload' && 'uploaded',
        'Rollback of': one.rollback_of && (
          <LinkTo to={paths.deployment(one.rollback_of)}>an earlier deployment</LinkTo>
        ),
        Release: one.release_id && <LinkTo to={paths.release(one.release_id)}>its files</LinkTo>,
        'Live since': one.live_at && <TimeText value={one.live_at} />,
        Id: <CopyText value={one.id} label="deployment id" />,
      }}
    />
  );
}

const phaseColors: Record<Phase['state'], string> = {
  done: 'green',
  active: 'blue',
  failed: 'red',
  stopped: 'gray',
  waiting: 'gray',
};
const stateTexts: Record<Phase['state'], string> = {
  done: 'done',
  active: 'in progress',
  failed: 'failed',
  stopped: 'stopped',
  waiting: 'not started',
};

function DeploymentSteps({ phases }: { phases: readonly Phase[] }) {
  return (
    <SimpleGrid component="ol" cols={{ base: 1, xs: 2, md: 4 }} spacing="sm" p={0} m={0}>
      {phases.map(({ title, state, detail, ms }) => (
        <Paper
          key={title}
          component="li"
          withBorder
          p="sm"
          style={{ listStyle: 'none' }}
          aria-current={state === 'active' ? 'step' : undefined}
        >
          <Group gap="sm" wrap="nowrap" align="flex-start">
            <ThemeIcon variant="light" color={phaseColors[state]} radius="xl" size={28}>
              <StepIcon state={state} />
            </ThemeIcon>
            <Stack gap={0}>
              <Text fw={600}>{title}</Text>
              <Hint>
                {detail ?? stateTexts[state]}
                {ms !== null && `, ${formatDuration(ms)}`}
              </Hint>
            </Stack>
          </Group>
        </Paper>
      ))}
    </SimpleGrid>
  );
}

function StepIcon({ state }: { state: Phase['state'] }) {
  if (state === 'active') return <Loader size={16} aria-hidden />;
  const Icon = { done: IconCheck, failed: IconX, stopped: IconPlayerStop, waiting: IconMinus }[state];
  return <Icon size={16} aria-hidden />;
}

function BuildLog({ deployment }: { deployment: Pick<Deployment, 'id' | 'seq'> }) {
  const { app, params } = useApp();
  const log = useLog(
    {
      key: deployment.id,
      from: 'start',
      read: (query, signal) =>
        client.call(readBuildLog, { params: { ...params, deployment: deployment.id }, query }, { signal }),
    },
    false,
  );
  return (
    <Stack gap="sm">
      <Heading order={3}>Build log</Heading>
      <LogView
        log={log}
        label={`Build log of deployment #${deployment.seq}`}
        fileName={`${app.slug}-${deployment.seq}.log`}
        empty={log.isEnded ? 'The log is empty or no longer stored.' : 'No output yet.'}
      />
    </Stack>
  );
}
