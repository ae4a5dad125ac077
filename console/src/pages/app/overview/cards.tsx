import { Button, Group, Paper, Stack, Text } from '@mantine/core';
import { getAppMetrics } from '@svc/contract/app-metrics.ts';
import { getCategory } from '@svc/contract/categories.ts';
import { listDeployments } from '@svc/contract/deployments.ts';
import { listAppMembers } from '@svc/contract/owners.ts';
import { getSite } from '@svc/contract/static-sites.ts';
import { IconExternalLink } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { ActionButton } from '../../../components/buttons.tsx';
import { DetailGrid } from '../../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../../components/display.tsx';
import { formatBytes } from '../../../components/format.ts';
import { BoldLink, ExternalLink, LinkTo, SmallLink } from '../../../components/page-layout.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading, Hint, Mono } from '../../../components/text.tsx';
import { sourceText, triggerText } from '../deployments/deployment.ts';
import { useDeployments } from '../deployments/deployment-list.tsx';
import { sparkline } from '../metrics/chart-layout.ts';
import { errorPercent, formatCount, formatMs, formatPercent } from '../metrics/figures.ts';
import { whyNotVisit } from '../rules.ts';
import { useApp, usePersonNames } from '../use-app.tsx';

function Card({ title, more, children }: { title: string; more?: ReactNode; children: ReactNode }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={title}>
      <Stack gap="sm">
        <Group justify="space-between" align="baseline">
          <Heading>{title}</Heading>
          {more}
        </Group>
        {children}
      </Stack>
    </Paper>
  );
}

export function AboutCard() {
  const { app, tenant, params, why, paths } = useApp();
  const category = useEndpoint(
    getCategory,
    { params: { tenantID: tenant.id, categoryID: app.category_id ?? '' } },
    { enabled: app.category_id !== null },
  );
  const people = useEndpoint(
    listAppMembers,
    { params, query: { per_page: 200 } },
    { enabled: why(listAppMembers) === null && app.record !== 'deleted' },
  );
  const noVisit = whyNotVisit(app);
  const isOpen = app.url !== null && app.deployment_status === 'deployed';
  return (
    <Card
      title="About"
      more={
        isOpen &&
        (noVisit !== null ? (
          <ActionButton variant="filled" why={noVisit} onClick={() => {}}>
            Open app
          </ActionButton>
        ) : (
          <Button
            component="a"
            href={app.url ?? ''}
            target="_blank"
            rel="noreferrer"
            rightSection={<IconExternalLink size={16} aria-hidden />}
          >
            Open app
          </Button>
        ))
      }
    >
      {app.summary && <Text fw={600}>{app.summary}</Text>}
      <Text style={{ whiteSpace: 'pre-wrap' }} c={app.description ? undefined : 'dimmed'}>
        {app.description || 'No description yet.'}
      </Text>
      <DetailGrid
        cols={{ base: 2, sm: 4 }}
        spacing="sm"
        details={{
          Owner: app.owner_name,
          Category: app.category_id !== null && (category.data?.name ?? '…'),
          People: people.data && (
            <LinkTo to={paths.app('people')}>
              {people.data.total === 1 ? '1 person' : `${people.data.total} people`}
            </LinkTo>
          ),
          Created: <TimeText value={app.created_at} />,
        }}
      />
    </Card>
  );
}

export function LiveCard() {
  const { app, params, paths } = useApp();
  const nameOf = usePersonNames();
  const answer = useEndpoint(
    listDeployments,
    { params, query: { state: 'live', per_page: 1 } },
    { refetchMs: 15_000 },
  );
  return (
    <Card title="Live">
      <QueryView answer={answer} lines={2}>
        {({ items: [live] }) => {
          if (live === undefined) return <LiveRelease />;
          return (
            <Stack gap={4}>
              <Group gap="xs">
                <BoldLink to={paths.deployment(live.id)}>Deployment #{live.seq}</BoldLink>
                <Mono>{sourceText(live)}</Mono>
              </Group>
              {live.commit_message && <Text lineClamp={2}>{live.commit_message}</Text>}
              <Hint component="div">
                {nameOf(live.created_by) ?? triggerText(live)}, live since <TimeText value={live.live_at} />
              </Hint>
              {app.url && app.runtime === 'running' && whyNotVisit(app) === null && (
                <ExternalLink to={app.url} size="sm" style={{ overflowWrap: 'anywhere' }}>
                  {app.url}
                </ExternalLink>
              )}
            </Stack>
          );
        }}
      </QueryView>
    </Card>
  );
}

function LiveRelease() {
  const { app, params, paths } = useApp();
  const nameOf = usePersonNames();
  const answer = useEndpoint(getSite, { params });
  return (
    <QueryView answer={answer} lines={2}>
      {({ active_release: active, published, staged_release: staged, url }) => (
        <Stack gap={4}>
          {active === null || !published ? (
            <Text c="dimmed">{active ? 'The site is unpublished.' : 'Nothing is live.'}</Text>
          ) : (
            <>
              <BoldLink to={paths.release(active.id)}>
                Release {active.version || `#${active.number}`}
              </BoldLink>
              <Hint component="div">
                {nameOf(active.created_by) ?? 'Unknown'}, live since <TimeText value={active.activated_at} />:{' '}
                {active.files === 1 ? '1 file' : `${active.files} files`}, {formatBytes(active.bytes)}
              </Hint>
              {url && whyNotVisit(app) === null && (
                <ExternalLink to={url} size="sm" style={{ overflowWrap: 'anywhere' }}>
                  {url}
                </ExternalLink>
              )}
            </>
          )}
          {staged && (
            <Text size="sm">
              Staged:{' '}
              <LinkTo to={paths.release(staged.id)} inherit underline="always">
                release {staged.version || `#${staged.number}`}
              </LinkTo>
            </Text>
          )}
        </Stack>
      )}
    </QueryView>
  );
}

const latestMax = 5;

export function LatestCard() {
  const { paths } = useApp();
  const answer = useDeployments({ per_page: latestMax });
  if (answer.data?.total === 0) return null;
  return (
    <Card
      title="Latest deployments"
      more={<SmallLink to={paths.app('deployments')}>All deployments</SmallLink>}
    >
      <QueryView answer={answer} lines={3}>
        {({ items }) => (
          <Stack gap="xs" component="ul" p={0} m={0}>
            {items.map((one) => (
              <Group
                key={one.id}
                component="li"
                gap="sm"
                justify="space-between"
                style={{ listStyle: 'none' }}
              >
                <Group gap="sm">
                  <BoldLink to={paths.deployment(one.id)}>#{one.seq}</BoldLink>
                  <StateBadge state={one.state} />
                  <Mono>{sourceText(one)}</Mono>
                </Group>
                <Hint span>
                  <TimeText value={one.created_at} />
                </Hint>
              </Group>
            ))}
          </Stack>
        )}
      </QueryView>
    </Card>
  );
}

const sparklineBox = { width: 300, height: 56 };

export function RequestsCard() {
  const { params, paths } = useApp();
  const answer = useEndpoint(getAppMetrics, { params, query: { range: '24h' } }, { refetchMs: 60_000 });
  return (
    <Card title="Requests, 24 hours" more={<SmallLink to={paths.app('metrics')}>All metrics</SmallLink>}>
      <QueryView answer={answer} lines={2}>
        {({ total, points }) => {
          const errors = errorPercent(total);
          return (
            <Stack gap="xs">
              <Group gap="md" align="baseline">
                <Text fz={28} fw={700} lh={1.1}>
                  {formatCount(total.requests)}
                </Text>
                {errors !== null && <Text size="sm">{formatPercent(errors)} errors</Text>}
                {total.p95_ms !== null && <Text size="sm">p95 {formatMs(total.p95_ms)}</Text>}
              </Group>
              <svg
                viewBox={`0 -2 ${sparklineBox.width} ${sparklineBox.height + 4}`}
                width="100%"
                height={sparklineBox.height}
                preserveAspectRatio="none"
                role="img"
                aria-label={`${formatCount(total.requests)} requests in the last 24 hours`}
              >
                <polyline
                  points={sparkline(
                    points.map(({ requests }) => requests),
                    sparklineBox,
                  )}
                  fill="none"
                  stroke="var(--mantine-primary-color-filled)"
                  strokeWidth={2}
                  vectorEffect="non-scaling-stroke"
                />
              </svg>
            </Stack>
          );
        }}
      </QueryView>
    </Card>
  );
}
