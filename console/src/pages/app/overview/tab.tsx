import { Alert, Grid, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { getAppMetrics } from '@svc/contract/app-metrics.ts';
import type { AppTab } from '@svc/contract/console-paths.ts';
import { listDeployments } from '@svc/contract/deployments.ts';
import { listPublicationsOfApp } from '@svc/contract/review.ts';
import { IconFolderUp, IconGitBranch, IconInfoCircle, IconTerminal2 } from '@tabler/icons-react';
import type { ComponentType } from 'react';
import { Link } from 'wouter';
import { useChange } from '../../../change/use-change.ts';
import { ChangeButton, CopyText } from '../../../components/buttons.tsx';
import { TimeText } from '../../../components/display.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { Heading, SecondaryButton, SubHeading } from '../../../components/text.tsx';
import { PublicationCard } from '../publication/publication-card.tsx';
import { type NextStep, nextStep } from '../rules.ts';
import { moveTexts } from '../settings/danger-zone.tsx';
import { type AppView, useApp } from '../use-app.tsx';
import { AboutCard, LatestCard, LiveCard, RequestsCard } from './cards.tsx';

export default function OverviewTab() {
  const { app, why } = useApp();
  const may = (endpoint: Parameters<typeof why>[0]) => why(endpoint) === null && app.record !== 'deleted';
  const isPartOf = may(listDeployments);
  const step = nextStep(app);
  return (
    <Stack gap="md">
      {step !== null && (isPartOf || app.record === 'deleted') && <NextStepCard step={step} />}
      <Grid gap="md">
        <Grid.Col span={{ base: 12, lg: isPartOf ? 7 : 12 }}>
          <Stack gap="md">
            <AboutCard />
            {isPartOf && step !== 'deploy' && <LiveCard />}
            {isPartOf && <LatestCard />}
          </Stack>
        </Grid.Col>
        {isPartOf && (
          <Grid.Col span={{ base: 12, lg: 5 }}>
            <Stack gap="md">
              {may(getAppMetrics) && step !== 'deploy' && <RequestsCard />}
              {may(listPublicationsOfApp) && <PublicationCard />}
            </Stack>
          </Grid.Col>
        )}
      </Grid>
    </Stack>
  );
}

const titles: Record<Exclude<NextStep, 'deploy'>, string> = {
  resume: 'The app is suspended',
  reactivate: 'The app is archived',
  restore: 'The app is deleted',
};

function NextStepCard({ step }: { step: NextStep }) {
  const { app } = useApp();
  if (step === 'deploy') return <DeployOptions />;
  return (
    <Alert color="yellow" icon={<IconInfoCircle aria-hidden />} title={titles[step]}>
      <Stack gap="sm" align="flex-start">
        <Text size="sm" component="div">
          {step === 'resume' &&
            'The app does not respond while it is suspended. Resuming redeploys what ran last.'}
          {step === 'reactivate' &&
            'Its rows can be read but nothing can be changed. Reactivate it to resume and deploy it again.'}
          {step === 'restore' && (
            <>
              Restoring brings it back, stopped. It is purged permanently <TimeText value={app.purge_after} />
              .
            </>
          )}
        </Text>
        <MoveButton move={step} />
      </Stack>
    </Alert>
  );
}

function MoveButton({ move }: { move: Exclude<NextStep, 'deploy'> }) {
  const { app, params, why } = useApp();
  const { endpoint, verb, done } = moveTexts[move];
  const change = useChange(endpoint, { title: `${verb} ${app.name}`, verb, done });
  return (
    <>
      <ChangeButton variant="filled" why={why(endpoint)} change={change} input={{ params }}>
        {verb}
      </ChangeButton>
      <ProblemAlert error={change.problem} />
    </>
  );
}

interface DeployOption {
  title: string;
  text: string;
  icon: ComponentType<{ size?: number | string; 'aria-hidden'?: boolean }>;
  command?: string;
  leads?: { tab: AppTab; label: string };
}

function DeployOptions() {
  const { app, paths } = useApp();
  return (
    <Stack gap="sm">
      <Heading>First deployment</Heading>
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="md">
        {deployOptions(app).map(({ title, text, icon: Icon, command, leads }) => (
          <Paper key={title} withBorder p="md">
            <Stack gap="xs" align="flex-start">
              <Icon size={24} aria-hidden />
              <SubHeading>{title}</SubHeading>
              <Text size="sm">{text}</Text>
              {command && <CopyText value={command} label="command" />}
              {leads && (
                <SecondaryButton component={Link} href={paths.app(leads.tab)}>
                  {leads.label}
                </SecondaryButton>
              )}
            </Stack>
          </Paper>
        ))}
      </SimpleGrid>
    </Stack>
  );
}

function deployOptions({ slug, deploy_method }: AppView): DeployOption[] {
  return [
    {
      title: 'From a repository',
      text: 'Connect one to build and deploy every push to its branch.',
      icon: IconGitBranch,
      leads: { tab: 'deployments', label: 'Connect a repository' },
    },
    {
      title: 'From your machine',
      text: 'Upload your working folder; the server builds it.',
      icon: IconTerminal2,
      command: `svc deploy --app ${slug} --from-dir . --execute`,
    },
    deploy_method === 'static'
      ? {
          title: 'Upload files',
          text: 'Upload the output of a build, or files that need no build.',
          icon: IconFolderUp,
          leads: { tab: 'releases', label: 'Upload files' },
        }
      : {
          title: 'Create a svc.yaml',
          text: 'Describes how to build, start and check the app where this cannot be detected.',
          icon: IconFolderUp,
          command: 'svc init',
        },
  ];
}
