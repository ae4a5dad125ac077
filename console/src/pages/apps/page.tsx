import { Group, SegmentedControl, Stack } from '@mantine/core';
import { listApps, listMyApps } from '@svc/contract/app-lists.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import type { ReactNode } from 'react';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { NewButton } from '../../components/buttons.tsx';
import { DataTable, NameCell } from '../../components/data-table.tsx';
import { AppIcon, StateBadge, TimeText } from '../../components/display.tsx';
import { EmptyState, PageHead } from '../../components/page-layout.tsx';
import { PagedList } from '../../components/paged-list.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { usePage, useUrlChoice } from '../../components/url-state.ts';

const kinds = ['own', 'deleted'] as const;
const labels = { own: 'Active', deleted: 'Deleted' };

export default function MyAppsPage() {
  const tenant = useTenant();
  const [kind, setKind] = useUrlChoice<(typeof kinds)[number]>('show', 'own', kinds);
  const create = <NewButton to={consolePaths.newApp(tenant.slug)} label="New app" />;
  return (
    <>
      <PageHead
        title="My apps"
        lead={
          kind === 'own'
            ? 'Apps you own, co-own or are invited to.'
            : 'Deleted apps that you can restore or purge.'
        }
        actions={create}
      />
      <Stack>
        <SegmentedControl
          aria-label="Which apps"
          value={kind}
          onChange={(value) => setKind(value === 'deleted' ? 'deleted' : 'own')}
          data={kinds.map((value) => ({ value, label: labels[value] }))}
          style={{ alignSelf: 'flex-start' }}
        />
        <div>{kind === 'own' ? <OwnApps create={create} /> : <DeletedApps />}</div>
      </Stack>
    </>
  );
}

function OwnApps({ create }: { create: ReactNode }) {
  const tenant = useTenant();
  const answer = useEndpoint(listMyApps, { params: { tenantID: tenant.id }, query: {} });
  return (
    <QueryView answer={answer}>
      {({ items }) =>
        items.length === 0 ? (
          <EmptyState
            title="No apps yet"
            command="svc apps bootstrap --template react --slug hello --execute --watch"
            action={create}
          >
            An app has a URL, tables, storage and owners. Start from a template to have one running within a
            minute.
          </EmptyState>
        ) : (
          <AppList tenant={tenant.slug} apps={items} />
        )
      }
    </QueryView>
  );
}

type OwnApp = Answer<NonNullable<typeof listMyApps.shape>>['items'][number];

const relations: Record<OwnApp['relation'], string> = {
  owner: 'owner',
  co_owner: 'co-owner',
  member: 'invited',
};

function AppList({ tenant, apps }: { tenant: string; apps: readonly OwnApp[] }) {
  return (
    <DataTable
      label="My apps"
      minWidth={560}
      rows={apps}
      columns={[
        {
          head: 'App',
          cell: (app) => (
            <Group gap="sm" wrap="nowrap">
              <AppIcon app={app} size={36} />
              <NameCell
                to={consolePaths.app(tenant, app.slug)}
                name={app.name}
                description={app.summary || app.slug}
                lineClamp={1}
              />
            </Group>
          ),
        },
        { head: 'Your role', cell: ({ relation }) => relations[relation] },
        { head: 'State', cell: (app) => <StateBadge state={app.deployment_status} /> },
        { head: 'Visibility', cell: ({ visibility }) => <StateBadge state={visibility} /> },
        { head: 'Changed', cell: (app) => <TimeText value={app.updated_at} /> },
      ]}
    />
  );
}

function DeletedApps() {
  const tenant = useTenant();
  const answer = useEndpoint(listApps, {
    params: { tenantID: tenant.id },
    query: { deleted: 'true', page: usePage() },
  });
  return (
    <PagedList
      answer={answer}
      empty={
        <EmptyState title="No deleted apps" command="svc apps list --deleted">
          Deleted apps are listed here until they are purged. Until then they can be restored.
        </EmptyState>
      }
    >
      {(items) => (
        <DataTable
          label="Deleted apps"
          minWidth={520}
          rows={items}
          columns={[
            {
              head: 'App',
              cell: (app) => (
                <NameCell
                  to={consolePaths.app(tenant.slug, app.id)}
                  name={app.name}
                  description={app.summary || app.slug}
                  lineClamp={1}
                />
              ),
            },
            { head: 'Deleted', cell: (app) => <TimeText value={app.deleted_at} /> },
            { head: 'Purge', cell: (app) => <TimeText value={app.purge_after} /> },
          ]}
        />
      )}
    </PagedList>
  );
}
