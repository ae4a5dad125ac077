import { Button, Code, Group, List, Paper, SimpleGrid, Spoiler, Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { getMyGrantTerms, listMyGrants } from '@svc/contract/grants.ts';
import { Link } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { CopyText } from '../../components/buttons.tsx';
import { ActionBadges, TimeText } from '../../components/display.tsx';
import { EmptyState, PageHead, SmallLink } from '../../components/page-layout.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { BoldText, Heading, Hint } from '../../components/text.tsx';

export default function MyGrantsPage() {
  const tenant = useTenant();
  const params = { tenantID: tenant.id };
  const answer = useEndpoint(listMyGrants, { params });
  const terms = useEndpoint(getMyGrantTerms, { params }).data;
  return (
    <>
      <PageHead
        title="My grants"
        lead="The data of the tenant that you have access to."
        actions={
          <>
            <SmallLink to={consolePaths.grantRequests(tenant.slug)}>Requests for access</SmallLink>
            <Button component={Link} href={consolePaths.requestAccess(tenant.slug)}>
              Request access
            </Button>
          </>
        }
      />
      <QueryView answer={answer}>
        {(grants) =>
          grants.length === 0 ? (
            <EmptyState title="No grants yet" command="svc grants mine">
              A grant lets you use a connector: a database, a service, the tables of an app. Request access,
              and say which data you need, why and for how long. Your own apps need no grant.
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
                  grantedBy={terms?.people.find(({ id }) => id === grant.granted_by)}
                  tables={(terms?.tables ?? []).filter(({ connector_id, path }) => {
                    const scope = grant.scope_resource_paths;
                    const isInScope = scope.some((entry) => path === entry || path.startsWith(`${entry}/`));
                    return connector_id === grant.connector_id && (scope.length === 0 || isInScope);
                  })}
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
  grantedBy,
  tables,
}: {
  grant: Grant;
  grantedBy: Terms['people'][number] | undefined;
  tables: Terms['tables'];
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
          <BoldText>{preset ? `Preset ${preset.name}` : 'Preset'}</BoldText>
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
        {tables.length > 0 && (
          <div>
            <BoldText>Tables</BoldText>
            <Spoiler maxHeight={110} showLabel={`Show all ${tables.length}`} hideLabel="Show fewer">
              <List size="sm" listStyleType="none">
                {tables.map(({ path }) => (
                  <List.Item key={path}>
                    <Code>{path}</Code>
                  </List.Item>
                ))}
              </List>
            </Spoiler>
          </div>
        )}
        <Hint>
          Granted <TimeText value={grant.granted_at} />
          {grantedBy && ` by ${grantedBy.name} (${grantedBy.email})`}
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
