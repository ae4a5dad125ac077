import { Grid, Stack } from '@mantine/core';
import { getAppMetrics } from '@svc/contract/app-metrics.ts';
import { listDeployments } from '@svc/contract/deployments.ts';
import { listPublicationsOfApp } from '@svc/contract/review.ts';
import { PublicationCard } from '../publication/publication-card.tsx';
import { useApp } from '../use-app.ts';
import { AboutCard } from './about-card.tsx';
import { LatestCard } from './latest-card.tsx';
import { LiveCard } from './live-card.tsx';
import { nextStepOf } from './next-step.ts';
import { NextStepCard } from './next-step-card.tsx';
import { RequestsCard } from './requests-card.tsx';

/** What the app is and how it stands; who has no part in it sees what everybody may. */
export default function OverviewTab() {
  const { app, why } = useApp();
  const may = (endpoint: Parameters<typeof why>[0]) => why(endpoint) === null && app.record !== 'deleted';
  const isPartOf = may(listDeployments);
  const step = nextStepOf(app);
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
