import { Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { DataTable } from '../../../parts/data-table.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';
import { usePersonNames } from '../use-person-names.ts';
import { type Deployment, durationText, tookMs } from './deployment-phases.ts';
import { reasonText, sourceText } from './deployment-texts.ts';

export function DeploymentTable({ deployments }: { deployments: readonly Deployment[] }) {
  const { app, tenant } = useApp();
  const nameOf = usePersonNames();
  const now = new Date();
  return (
    <DataTable
      label="Deployments"
      minWidth={680}
      rows={deployments}
      keyOf={({ id }) => id}
      columns={[
        {
          head: 'Deployment',
          cell: ({ id, seq }) => (
            <LinkTo to={consolePaths.deployment(tenant.slug, app.slug, id)} fw={600}>
              #{seq}
            </LinkTo>
          ),
        },
        { head: 'State', cell: ({ state }) => <StateBadge state={state} /> },
        {
          head: 'Of what',
          cell: (one) => (
            <Stack gap={0} maw={360}>
              <Text size="sm" className="mono">
                {sourceText(one)}
              </Text>
              <Text size="sm" c="dimmed" lineClamp={1}>
                {one.failure ? one.failure.detail : one.commit_message}
              </Text>
            </Stack>
          ),
        },
        { head: 'By', cell: (one) => nameOf(one.created_by) ?? reasonText(one) },
        { head: 'When', cell: (one) => <TimeText value={one.created_at} /> },
        {
          head: 'Took',
          cell: (one) => durationText(tookMs(one, now)),
          td: { style: { whiteSpace: 'nowrap' } },
        },
      ]}
    />
  );
}
