import { Code, Group, List, Paper, SimpleGrid, Spoiler, Stack, Text } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import { getMyGrantTerms, listMyGrants } from '@svc/contract/grants.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { CopyText } from '../../components/buttons.tsx';
import { ActionBadges, TimeText } from '../../components/display.tsx';
import { EmptyState, PageHead } from '../../components/page-layout.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { BoldText, Heading, Hint } from '../../components/text.tsx';

export default function MyGrantsPage() {
  const tenant = useTenant();
  const params = { tenantID: tenant.id };
  const answer = useEndpoint(listMyGrants, { params });
  const terms = useEndpoint(getMyGrantTerms, { params }).data;
  return (
    <>
      <PageHead title="My grants" lead="The data of the tenant that you have access to." />
      <QueryView answer={answer}>
        {(grants) =>
          grants.length === 0 ? (
            <EmptyState title="No grants yet" command="svc grants mine">
              A grant lets you use a connector: a database, a service, the tables of an app. Ask a tenant
              admin, and say which data you need, why and for how long. Your own apps need no grant.
            </EmptyState>
          ) : (
            <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }}>
              {grants.map((grant) => (
                <GrantCard
                  key={grant.id}
                  grant={grant}
                  connector={terms?.connectors.find(({ id }) => id === grant.connector_id)}
                  preset={terms?.presets.find(({ id }) => id === grant.preset_id)}
                  group={terms?.groups.find(({ id }) => id === grant.subject_id)}
                />
              ))}
            </SimpleGrid>
          )
        }
      </QueryView>
    </>
  );
}

type Grant = Answer<NonNullable<typeof listMyGrants.shape>>[number];
type Terms = Answer<NonNullable<typeof getMyGrantTerms.shape>>;

function GrantCard({
  grant,
  connector,
  preset,
  group,
}: {
  grant: Grant;
  connector: Terms['connectors'][number] | undefined;
  preset: Terms['presets'][number] | undefined;
  group: Terms['groups'][number] | undefined;
}) {
  const scope = grant.scope_resource_paths;
  const policies = grant.policy_ids.length;
  return (
    <Paper withBorder p="lg" radius="md" component="article">
      <Stack gap="sm">
        <div>
          <Heading>{connector?.name ?? 'A connector'}</Heading>
          {connector?.description && <Hint>{connector.description}</Hint>}
        </div>
        <div>
          <BoldText>Actions</BoldText>
          <Group gap={6} mt={4}>
            <ActionBadges actions={preset?.actions ?? [grant.preset_id]} />
          </Group>
        </div>
        <div>
          <BoldText>Scope</BoldText>
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
        <Hint>
          Granted <TimeText value={grant.granted_at} />
          {group && ` to the group ${group.display_name}`};{' '}
          {grant.expires_at === '' ? (
            'does not expire'
          ) : (
            <>
              expires <TimeText value={grant.expires_at} />
            </>
          )}
          {grant.reason && `. ${grant.reason}`}
        </Hint>
        <CopyText value={grant.id} label="grant id" size="xs" />
      </Stack>
    </Paper>
  );
}
