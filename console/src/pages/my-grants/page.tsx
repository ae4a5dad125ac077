import { Button, Code, Group, List, Paper, SimpleGrid, Spoiler, Stack, Text } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { getMyGrantTerms, listMyGrants, listMyTables } from '@svc/contract/grants.ts';
import { Link } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { CopyText } from '../../components/buttons.tsx';
import { DataTable, NameCell } from '../../components/data-table.tsx';
import { ActionBadges, TimeText } from '../../components/display.tsx';
import { EmptyState, PageHead, SmallLink } from '../../components/page-layout.tsx';
import { PagedList } from '../../components/paged-list.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { BoldText, Heading, Hint } from '../../components/text.tsx';
import { usePage } from '../../components/url-state.ts';

export default function MyGrantsPage() {
  const tenant = useTenant();
  const params = { tenantID: tenant.id };
  const answer = useEndpoint(listMyGrants, { params });
  const terms = useEndpoint(getMyGrantTerms, { params }).data;
  return (
    <>
      <PageHead
        title="My access"
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
      <Stack gap="xl">
        <MyTables />
        <QueryView answer={answer}>
          {(grants) =>
            grants.length === 0 ? (
              <EmptyState title="No grants yet" command="svc grants mine">
                A grant lets you use a connector: a database, a service, the tables of an app. Request access,
                and say which data you need, why and for how long. Your own apps need no grant.
              </EmptyState>
            ) : (
              <Stack gap="sm" component="section">
                <Heading>Grants</Heading>
                <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }}>
                  {grants.map((grant) => (
                    <GrantCard
                      key={grant.id}
                      grant={grant}
                      connector={terms?.connectors.find(({ id }) => id === grant.connector_id)}
                      preset={terms?.presets.find(({ id }) => id === grant.preset_id)}
                      group={terms?.groups.find(({ id }) => id === grant.subject_id)}
                      grantedBy={terms?.people.find(({ id }) => id === grant.granted_by)}
                    />
                  ))}
                </SimpleGrid>
              </Stack>
            )
          }
        </QueryView>
      </Stack>
    </>
  );
}

type MyTable = Answer<NonNullable<typeof listMyTables.shape>>['items'][number];

function MyTables() {
  const tenant = useTenant();
  const answer = useEndpoint(listMyTables, { params: { tenantID: tenant.id }, query: { page: usePage() } });
  // Without tables the grants say it all, such as those of a service.
  if (answer.data?.total === 0) return null;
  return (
    <Stack gap="sm" component="section">
      <Heading>Tables</Heading>
      <PagedList answer={answer}>
        {(tables) => (
          <DataTable
            label="Tables"
            minWidth={760}
            rows={tables}
            keyOf={({ connector_id, path }) => `${connector_id} ${path}`}
            columns={[
              { head: 'Table', cell: (table) => <TableName table={table} /> },
              { head: 'You can', cell: ({ actions }) => <ActionBadges actions={actions} /> },
              { head: 'Masked', cell: ({ masked_columns }) => masked_columns.join(', ') || 'nothing' },
              { head: 'By', cell: ({ grants }) => [...new Set(grants.map(grantText))].join(', ') },
              { head: 'Expires', cell: ({ expires_at }) => <TimeText value={expires_at} empty="never" /> },
              { head: 'Rows', cell: (table) => <OpenButton table={table} /> },
            ]}
          />
        )}
      </PagedList>
    </Stack>
  );
}

const grantText = ({ preset_name, group_name }: MyTable['grants'][number]) =>
  group_name === '' ? preset_name : `${preset_name} (${group_name})`;

function TableName({ table }: { table: MyTable }) {
  return <NameCell name={<Code>{table.path}</Code>} description={table.problem ?? table.connector_name} />;
}

function OpenButton({ table: { connector_slug, path, actions } }: { table: MyTable }) {
  const tenant = useTenant();
  if (!actions.includes('read')) return null;
  return (
    <Button
      component={Link}
      href={consolePaths.connectorTable(tenant.slug, connector_slug, path)}
      variant="default"
      size="compact-sm"
      aria-label={`Open ${path}`}
    >
      Open
    </Button>
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
}: {
  grant: Grant;
  grantedBy: Terms['people'][number] | undefined;
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
