import { Group, Stack, Text } from '@mantine/core';
import type { listMyApps } from '@svc/contract/app-lists.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { AppIcon } from '../../parts/app-icon.tsx';
import { DataTable } from '../../parts/data-table.tsx';
import { LinkTo } from '../../parts/link-to.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import { TimeText } from '../../parts/time-text.tsx';

type OwnApp = Answer<NonNullable<typeof listMyApps.shape>>['items'][number];

const relations: Record<OwnApp['relation'], string> = {
  owner: 'owner',
  co_owner: 'co-owner',
  member: 'invited',
};

export function AppList({ tenant, apps }: { tenant: string; apps: readonly OwnApp[] }) {
  return (
    <DataTable
      label="My apps"
      minWidth={560}
      rows={apps}
      keyOf={({ id }) => id}
      columns={[
        {
          head: 'App',
          cell: (app) => (
            <Group gap="sm" wrap="nowrap">
              <AppIcon app={app} size={36} />
              <Stack gap={0}>
                <LinkTo to={consolePaths.app(tenant, app.slug)} fw={600}>
                  {app.name}
                </LinkTo>
                <Text size="sm" c="dimmed" lineClamp={1}>
                  {app.summary || app.slug}
                </Text>
              </Stack>
            </Group>
          ),
        },
        { head: 'You are', cell: ({ relation }) => relations[relation] },
        { head: 'State', cell: (app) => <StateBadge state={app.deployment_status} /> },
        { head: 'Seen by', cell: ({ visibility }) => <StateBadge state={visibility} /> },
        { head: 'Changed', cell: (app) => <TimeText value={app.updated_at} /> },
      ]}
    />
  );
}
