import { Alert, Group, Stack, Text, Title } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { getDeployment, readBuildLog } from '@svc/contract/deployments.ts';
import { IconAlertCircle, IconArrowLeft } from '@tabler/icons-react';
import { isCode } from '../../../api/query-client.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { NotFound } from '../../../layout/not-found.tsx';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { OnlyFor } from '../../../parts/only-for.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { useApp } from '../use-app.ts';
import { BuildLog } from './build-log.tsx';
import { DeploymentActions } from './deployment-actions.tsx';
import { DeploymentFacts } from './deployment-facts.tsx';
import { isUnderWay, phasesOf, stepTexts } from './deployment-phases.ts';
import { DeploymentSteps } from './deployment-steps.tsx';
import { useAppAgain } from './use-deployments.ts';

/** One deployment, as it goes on. */
export function DeploymentView({ id }: { id: string }) {
  const { app, tenant, params, why } = useApp();
  const answer = useAnswer(
    getDeployment,
    { params: { ...params, deployment: id } },
    { everyMs: (last) => (last === undefined || isUnderWay(last) ? 1_000 : 15_000) },
  );
  useAppAgain(answer.data?.state);
  if (isCode(answer.error, 'not_found') || isCode(answer.error, 'validation_failed'))
    return <NotFound error={answer.error} />;
  return (
    <Stack gap="md">
      <LinkTo to={consolePaths.app(tenant.slug, app.slug, 'deployments')} size="sm">
        <Group gap={4} component="span">
          <IconArrowLeft size={14} aria-hidden /> All deployments
        </Group>
      </LinkTo>
      <AnswerView answer={answer} lines={8}>
        {(deployment) => (
          <>
            <Group justify="space-between" align="flex-start">
              <Group gap="sm">
                <Title order={2} size="h3">
                  Deployment #{deployment.seq}
                </Title>
                <span role="status">
                  <StateBadge state={deployment.state} />
                </span>
              </Group>
              <DeploymentActions deployment={deployment} />
            </Group>
            {deployment.failure && (
              <Alert
                color="red"
                icon={<IconAlertCircle aria-hidden />}
                title={`It failed while ${stepTexts[deployment.failure.step]}`}
              >
                <Text size="sm">{deployment.failure.detail}</Text>
                <Text size="xs" className="mono">
                  {deployment.failure.code}
                </Text>
                <Text size="sm">What was live before, if anything, still is.</Text>
              </Alert>
            )}
            <DeploymentSteps phases={phasesOf(deployment, new Date())} />
            <DeploymentFacts deployment={deployment} />
            <OnlyFor why={why(readBuildLog)} what="what the build said">
              <BuildLog deployment={deployment} />
            </OnlyFor>
          </>
        )}
      </AnswerView>
    </Stack>
  );
}
