import { Stack, Title } from '@mantine/core';
import { Empty } from '../../../parts/empty.tsx';
import { PagedList } from '../../../parts/paged-list.tsx';
import { usePage } from '../../../parts/use-search-value.ts';
import { useApp } from '../use-app.ts';
import { DeploymentTable } from './deployment-table.tsx';
import { GitCard } from './git-card.tsx';
import { useDeployments } from './use-deployments.ts';

const perPage = 20;

export function DeploymentsView() {
  const { app } = useApp();
  const answer = useDeployments({ page: usePage(), per_page: perPage });
  return (
    <Stack gap="lg">
      <GitCard />
      <Stack gap="sm">
        <Title order={2} size="h4">
          Deployments
        </Title>
        <PagedList
          answer={answer}
          empty={
            <Empty title="Not deployed yet" command={`svc deploy --app ${app.slug} --from-dir . --execute`}>
              Each push to the connected branch, each “Deploy now” and each folder that is sent becomes a
              deployment: it is built, started, and only then put in the place of the one before.
            </Empty>
          }
        >
          {(items) => <DeploymentTable deployments={items} />}
        </PagedList>
      </Stack>
    </Stack>
  );
}
