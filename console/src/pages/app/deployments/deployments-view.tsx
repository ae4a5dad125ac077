import { Stack, Title } from '@mantine/core';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { Pager } from '../../../parts/pager.tsx';
import { PastTheEnd } from '../../../parts/past-the-end.tsx';
import { usePage } from '../../../parts/use-search-value.ts';
import { useApp } from '../use-app.ts';
import { DeploymentTable } from './deployment-table.tsx';
import { GitCard } from './git-card.tsx';
import { useDeployments } from './use-deployments.ts';

const perPage = 20;

export function DeploymentsView() {
  const { app } = useApp();
  const page = usePage();
  const answer = useDeployments({ page, per_page: perPage });
  return (
    <Stack gap="lg">
      <GitCard />
      <Stack gap="sm">
        <Title order={2} size="h4">
          Deployments
        </Title>
        <AnswerView answer={answer}>
          {({ items, total }) =>
            items.length === 0 && page > 1 ? (
              <PastTheEnd />
            ) : total === 0 ? (
              <Empty title="Not deployed yet" command={`svc deploy --app ${app.slug} --from-dir . --execute`}>
                Each push to the connected branch, each “Deploy now” and each folder that is sent becomes a
                deployment: it is built, started, and only then put in the place of the one before.
              </Empty>
            ) : (
              <>
                <DeploymentTable deployments={items} />
                <Pager page={page} perPage={perPage} total={total} />
              </>
            )
          }
        </AnswerView>
      </Stack>
    </Stack>
  );
}
