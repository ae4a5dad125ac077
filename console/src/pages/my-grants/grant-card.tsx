import { Badge, Code, Group, List, Paper, Spoiler, Stack, Text, Title } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import type { getMyGrantTerms, listMyGrants } from '@svc/contract/grants.ts';
import { CopyText } from '../../parts/copy-text.tsx';
import { TimeText } from '../../parts/time-text.tsx';

type Grant = Answer<NonNullable<typeof listMyGrants.shape>>[number];
type Terms = Answer<NonNullable<typeof getMyGrantTerms.shape>>;

export function GrantCard({
  grant,
  connector,
  preset,
}: {
  grant: Grant;
  connector: Terms['connectors'][number] | undefined;
  preset: Terms['presets'][number] | undefined;
}) {
  const scope = grant.scope_resource_paths;
  const policies = grant.policy_ids.length;
  return (
    <Paper withBorder p="lg" radius="md" component="article">
      <Stack gap="sm">
        <div>
          <Title order={2} size="h4">
            {connector?.name ?? 'A connector'}
          </Title>
          {connector?.description && (
            <Text size="sm" c="dimmed">
              {connector.description}
            </Text>
          )}
        </div>
        <div>
          <Text size="sm" fw={600}>
            You may
          </Text>
          <Group gap={6} mt={4}>
            {(preset?.actions ?? [grant.preset_id]).map((action) => (
              <Badge key={action} variant="default" radius="sm" tt="none">
                {action}
              </Badge>
            ))}
          </Group>
        </div>
        <div>
          <Text size="sm" fw={600}>
            Reaching
          </Text>
          {scope.length === 0 ? (
            <Text size="sm">the whole connector</Text>
          ) : (
            <Spoiler maxHeight={110} showLabel={`Show all ${scope.length}`} hideLabel="Show fewer">
              <List size="sm" listStyleType="none">
                {scope.map((path) => (
                  <List.Item key={path}>
                    <Code>{path}</Code>
                  </List.Item>
                ))}
              </List>
            </Spoiler>
          )}
          {policies > 0 && (
            <Text size="sm" mt={4}>
              {policies === 1 ? 'A policy limits' : `${policies} policies limit`} which rows and columns you
              see.
            </Text>
          )}
        </div>
        <Text size="sm" c="dimmed">
          Granted <TimeText value={grant.granted_at} />;{' '}
          {grant.expires_at === '' ? (
            'does not expire'
          ) : (
            <>
              expires <TimeText value={grant.expires_at} />
            </>
          )}
          {grant.reason && `. ${grant.reason}`}
        </Text>
        <CopyText value={grant.id} label="grant id" size="xs" />
      </Stack>
    </Paper>
  );
}
