import { Button, SegmentedControl, Stack } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { listGrantRequests } from '@svc/contract/grant-requests.ts';
import { Link } from 'wouter';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { DataTable, NameCell } from '../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../components/display.tsx';
import { EmptyState, PageHead } from '../../components/page-layout.tsx';
import { PagedList } from '../../components/paged-list.tsx';
import { usePage, useUrlChoice } from '../../components/url-state.ts';
import { hoursText } from './rules.ts';

const views = ['mine', 'to_decide', 'all'] as const;
const viewTexts = { mine: 'My requests', to_decide: 'To decide', all: 'All' };
const pollMs = 30_000;

export default function GrantRequestsPage() {
  const tenant = useTenant();
  const [view, setView] = useUrlChoice('view', 'mine', views);
  const answer = useEndpoint(
    listGrantRequests,
    { params: { tenantID: tenant.id }, query: { view, page: usePage() } },
    { refetchMs: pollMs },
  );
  return (
    <>
      <PageHead
        title="Requests for access"
        lead="Owners of a connector and tenant admins decide, never the requester."
        actions={
          <Button component={Link} href={consolePaths.requestAccess(tenant.slug)}>
            Request access
          </Button>
        }
      />
      <Stack>
        <SegmentedControl
          aria-label="Which requests"
          data={views.map((value) => ({ value, label: viewTexts[value] }))}
          value={view}
          onChange={(value) => setView(views.find((one) => one === value) ?? 'mine')}
          w="fit-content"
        />
        <PagedList
          answer={answer}
          empty={
            <EmptyState
              title={view === 'to_decide' ? 'Nothing to decide' : 'No requests'}
              command={`svc grants requests list --view ${view}`}
            >
              {view === 'to_decide'
                ? 'Requests that you can decide appear here, and you are notified.'
                : 'Request access to a connector for a limited time; the grant expires automatically.'}
            </EmptyState>
          }
        >
          {(items) => <RequestTable tenant={tenant.slug} requests={items} />}
        </PagedList>
      </Stack>
    </>
  );
}

type Requests = Answer<NonNullable<typeof listGrantRequests.shape>>['items'];

function RequestTable({ tenant, requests }: { tenant: string; requests: Requests }) {
  return (
    <DataTable
      label="Requests"
      minWidth={700}
      rows={requests}
      columns={[
        {
          head: 'Connector',
          cell: (request) => (
            <NameCell
              to={consolePaths.grantRequest(tenant, request.id)}
              name={request.connector_name || 'Deleted connector'}
              description={request.reason}
              lineClamp={1}
            />
          ),
        },
        { head: 'Preset', cell: ({ preset_name }) => preset_name },
        { head: 'For', cell: ({ duration_seconds }) => hoursText(duration_seconds) },
        { head: 'Status', cell: ({ status }) => <StateBadge state={status} /> },
        { head: 'Requested by', cell: (request) => request.requested_by_email },
        { head: 'Requested', cell: (request) => <TimeText value={request.requested_at} /> },
      ]}
    />
  );
}
