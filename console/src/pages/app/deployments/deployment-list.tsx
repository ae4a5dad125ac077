import { Stack, Text } from '@mantine/core';
import { getApp } from '@svc/contract/apps.ts';
import { listDeployments } from '@svc/contract/deployments.ts';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { DataTable } from '../../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../../components/display.tsx';
import { BoldLink, EmptyState } from '../../../components/page-layout.tsx';
import { PagedList } from '../../../components/paged-list.tsx';
import { Heading, Hint } from '../../../components/text.tsx';
import { usePage } from '../../../components/url-state.ts';
import { useApp, usePersonNames } from '../use-app.tsx';
import {
  type Deployment,
  deploymentMs,
  formatDuration,
  isInProgress,
  sourceText,
  stateText,
  triggerText,
} from './deployment.ts';
import { GitCard } from './git-card.tsx';
import { PreviewList } from './preview-list.tsx';
import { ProcessList } from './process-list.tsx';

const perPage = 20;

export function DeploymentList() {
  const { app } = useApp();
  const answer = useDeployments({ page: usePage(), per_page: perPage });
  return (
    <Stack gap="lg">
      <GitCard />
      <ProcessList />
      <PreviewList />
      <Stack gap="sm">
        <Heading>Deployments</Heading>
        <PagedList
          answer={answer}
          empty={
            <EmptyState
              title="Not deployed yet"
              command={`svc deploy --app ${app.slug} --from-dir . --execute`}
            >
              Every push to the connected branch, every “Deploy now” and every uploaded folder creates a
              deployment. It is built and started before it replaces the previous one.
            </EmptyState>
          }
        >
          {(items) => <DeploymentTable deployments={items} />}
        </PagedList>
      </Stack>
    </Stack>
  );
}

function DeploymentTable({ deployments }: { deployments: readonly Deployment[] }) {
  const { paths } = useApp();
  const nameOf = usePersonNames();
  const now = new Date();
  return (
    <DataTable
      label="Deployments"
      minWidth={680}
      rows={deployments}
      columns={[
        {
          head: 'Deployment',
          cell: ({ id, seq }) => <BoldLink to={paths.deployment(id)}>#{seq}</BoldLink>,
        },
        { head: 'State', cell: (one) => <StateBadge state={one.state} label={stateText(one)} /> },
        {
          head: 'Source',
          cell: (one) => (
            <Stack gap={0} maw={360}>
              <Text size="sm" className="mono">
                {sourceText(one)}
              </Text>
              <Hint lineClamp={1}>{one.failure ? one.failure.detail : one.commit_message}</Hint>
            </Stack>
          ),
        },
        { head: 'By', cell: (one) => nameOf(one.created_by) ?? triggerText(one) },
        { head: 'Started', cell: (one) => <TimeText value={one.created_at} /> },
        {
          head: 'Duration',
          cell: (one) => formatDuration(deploymentMs(one, now)),
          td: { style: { whiteSpace: 'nowrap' } },
        },
      ]}
    />
  );
}

const busyMs = 2_000;
const idleMs = 15_000;

export function useDeployments(query: { page?: number; per_page: number }) {
  const { params } = useApp();
  const answer = useEndpoint(
    listDeployments,
    { params, query },
    { refetchMs: (last) => (last?.items.some(isInProgress) ? busyMs : idleMs) },
  );
  useRefreshApp(answer.data?.items.map(({ id, state }) => `${id} ${state}`).join());
  return answer;
}

export function useRefreshApp(states: string | undefined): void {
  const queries = useQueryClient();
  const seen = useRef(states);
  useEffect(() => {
    if (states === undefined || seen.current === states) return;
    if (seen.current !== undefined) void queries.invalidateQueries({ queryKey: [getApp.id] });
    seen.current = states;
  }, [states, queries]);
}
