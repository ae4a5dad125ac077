import { Group, Stack, Table, Text } from '@mantine/core';
import type { listMyApps } from '@svc/contract/app-lists.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { AppIcon } from '../../parts/app-icon.tsx';
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
    <Table.ScrollContainer minWidth={560}>
      <Table highlightOnHover verticalSpacing="sm" aria-label="My apps">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>App</Table.Th>
            <Table.Th>You are</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th>Seen by</Table.Th>
            <Table.Th>Changed</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {apps.map((app) => (
            <Table.Tr key={app.id}>
              <Table.Td>
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
              </Table.Td>
              <Table.Td>{relations[app.relation]}</Table.Td>
              <Table.Td>
                <StateBadge state={app.deployment_status} />
              </Table.Td>
              <Table.Td>
                <StateBadge state={app.visibility} />
              </Table.Td>
              <Table.Td>
                <TimeText value={app.updated_at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
