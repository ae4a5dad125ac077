import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import type { discoverApps } from '@svc/contract/app-lists.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { AppIcon } from '../../parts/app-icon.tsx';
import { LinkTo } from '../../parts/link-to.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import { type Category, CategoryMark } from './category-mark.tsx';

type FoundApp = Answer<NonNullable<typeof discoverApps.shape>>['items'][number];

/** The whole card leads to the app's page; its name is the link that is read aloud. */
export function AppCard({
  app,
  to,
  category,
}: {
  app: FoundApp;
  to: string;
  category: Category | undefined;
}) {
  return (
    <Paper withBorder p="md" component="article" className="covered">
      <Stack gap="sm" h="100%">
        <Group gap="sm" wrap="nowrap">
          <AppIcon app={app} size={44} />
          <Stack gap={0} miw={0}>
            <Title order={2} size="h5" lineClamp={2}>
              <LinkTo to={to} inherit className="cover">
                {app.name}
              </LinkTo>
            </Title>
            {app.owner_name && (
              <Text size="sm" c="dimmed" lineClamp={1}>
                by {app.owner_name}
              </Text>
            )}
          </Stack>
        </Group>
        <Text size="sm" style={{ flex: 1 }}>
          {app.summary || 'No summary yet.'}
        </Text>
        <Group gap="xs" justify="space-between">
          {category ? (
            <Group gap={6} wrap="nowrap">
              <CategoryMark category={category} />
              <Text size="sm">{category.name}</Text>
            </Group>
          ) : (
            <span />
          )}
          {app.operating_status !== 'live' && (
            <StateBadge state={app.operating_status} label="not live yet" />
          )}
        </Group>
      </Stack>
    </Paper>
  );
}
