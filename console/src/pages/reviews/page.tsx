import { Group, Select, Stack, VisuallyHidden } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { listReviews, type publicationFilters, reviewKinds } from '@svc/contract/review.ts';
import { useTenant, whyNot } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { DataTable, NameCell } from '../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../components/display.tsx';
import { visibilityNames } from '../../components/format.ts';
import { EmptyState, PageHead, Restricted } from '../../components/page-layout.tsx';
import { PagedList } from '../../components/paged-list.tsx';
import { usePage, useUrlChoice } from '../../components/url-state.ts';
import { reviewKindTexts } from '../review/rules.ts';

const pollMs = 30_000;
const statusTexts: Readonly<Record<(typeof publicationFilters)[number] | 'all', string>> = {
  pending: 'Waiting for a decision',
  settled: 'Closed',
  approved: 'Approved',
  rejected: 'Rejected',
  withdrawn: 'Withdrawn',
  superseded: 'Superseded by a deployment',
  expired: 'Expired',
  all: 'All',
};
const choices = Object.keys(statusTexts) as (keyof typeof statusTexts)[];
const kinds = ['all', ...reviewKinds] as const;
const kindFilterTexts: Readonly<Record<(typeof kinds)[number], string>> = {
  all: 'All kinds',
  publication: 'Publications',
  promotion: 'Promotions of sites',
  deployment: 'Deployments',
};

export default function ReviewsPage() {
  const tenant = useTenant();
  return (
    <>
      <PageHead
        title="Reviews"
        lead="Publications, promotions and deployments that somebody has to decide."
      />
      <Restricted why={whyNot(listReviews, tenant)} what="the reviews">
        <ReviewList />
      </Restricted>
    </>
  );
}

function ReviewList() {
  const tenant = useTenant();
  const page = usePage();
  const [status, setStatus] = useUrlChoice('status', 'pending', choices);
  const [kind, setKind] = useUrlChoice('kind', 'all', kinds);
  const query = {
    page,
    status: status === 'all' ? undefined : status,
    kind: kind === 'all' ? undefined : kind,
  };
  const answer = useEndpoint(
    listReviews,
    { params: { tenantID: tenant.id }, query },
    { refetchMs: status === 'pending' ? pollMs : false },
  );
  return (
    <Stack>
      <Group>
        <Select
          label="Status"
          data={choices.map((value) => ({ value, label: statusTexts[value] }))}
          value={status}
          onChange={(value) => setStatus(choices.find((one) => one === value) ?? 'pending')}
          allowDeselect={false}
          w={{ base: '100%', xs: 280 }}
        />
        <Select
          label="Kind"
          data={kinds.map((value) => ({ value, label: kindFilterTexts[value] }))}
          value={kind}
          onChange={(value) => setKind(kinds.find((one) => one === value) ?? 'all')}
          allowDeselect={false}
          w={{ base: '100%', xs: 220 }}
        />
      </Group>
      <PagedList
        answer={answer}
        empty={
          <EmptyState
            title={status === 'pending' ? 'No pending requests' : 'No matching requests'}
            command={status === 'pending' ? 'svc review list' : 'svc review history'}
          >
            {status === 'pending'
              ? 'Requests to publish or change a published app appear here, and you are notified.'
              : 'Choose another status to see other requests.'}
          </EmptyState>
        }
      >
        {(items) => <RequestTable tenant={tenant.slug} requests={items} />}
      </PagedList>
    </Stack>
  );
}

type Requests = Answer<NonNullable<typeof listReviews.shape>>['items'];

function RequestTable({ tenant, requests }: { tenant: string; requests: Requests }) {
  return (
    <DataTable
      label="Requests"
      minWidth={640}
      rows={requests}
      columns={[
        {
          head: 'App',
          cell: (request) => (
            <NameCell
              to={consolePaths.review(tenant, request.id)}
              name={request.app_name || request.app_slug || 'Deleted app'}
              description={request.note || request.app_slug}
              lineClamp={1}
            />
          ),
        },
        { head: 'Kind', cell: ({ kind }) => reviewKindTexts[kind] },
        {
          head: 'Visibility',
          cell: (request) =>
            request.visibility === request.visibility_before ? (
              visibilityNames[request.visibility]
            ) : (
              <>
                {visibilityNames[request.visibility_before]}
                <VisuallyHidden> becomes </VisuallyHidden>
                <span aria-hidden> → </span>
                <strong>{visibilityNames[request.visibility]}</strong>
              </>
            ),
        },
        { head: 'Status', cell: ({ status }) => <StateBadge state={status} /> },
        { head: 'Requested by', cell: (request) => request.requested_by_email },
        { head: 'Requested', cell: (request) => <TimeText value={request.requested_at} /> },
      ]}
    />
  );
}
