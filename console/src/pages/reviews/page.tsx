import { Group, Select, Stack } from '@mantine/core';
import { listPublications, type publicationFilters } from '@svc/contract/review.ts';
import { whyNot } from '../../api/may.ts';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Empty } from '../../parts/empty.tsx';
import { OnlyFor } from '../../parts/only-for.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { PagedList } from '../../parts/paged-list.tsx';
import { useQueryParam } from '../../parts/use-query-param.ts';
import { usePage } from '../../parts/use-search-value.ts';
import { RequestTable } from './request-table.tsx';

const askedEveryMs = 30_000;
const statusTexts: Readonly<Record<(typeof publicationFilters)[number] | 'all', string>> = {
  pending: 'Waiting for a decision',
  settled: 'Decided or over',
  approved: 'Approved',
  rejected: 'Rejected',
  withdrawn: 'Withdrawn',
  superseded: 'Superseded: something else was deployed',
  expired: 'Expired: nobody decided',
  all: 'All',
};
const choices = [
  'pending',
  'settled',
  'approved',
  'rejected',
  'withdrawn',
  'superseded',
  'expired',
  'all',
] as const;

/** What waits for an admin's decision, and what was decided. */
export default function ReviewsPage() {
  const tenant = useTenant();
  return (
    <>
      <PageHead title="Reviews" lead="Requests to show an app to more people." />
      <OnlyFor why={whyNot(listPublications, tenant)} what="the reviews">
        <ReviewList />
      </OnlyFor>
    </>
  );
}

function ReviewList() {
  const tenant = useTenant();
  const page = usePage();
  const [status, setStatus] = useQueryParam('status', 'pending', choices);
  const answer = useAnswer(
    listPublications,
    { params: { tenantID: tenant.id }, query: { page, ...(status === 'all' ? {} : { status }) } },
    { everyMs: status === 'pending' ? askedEveryMs : false },
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
          w={{ base: '100%', xs: 320 }}
        />
      </Group>
      <PagedList
        answer={answer}
        empty={
          <Empty
            title={status === 'pending' ? 'Nothing waits for you' : 'No such request'}
            command={status === 'pending' ? 'svc review list' : 'svc review history'}
          >
            {status === 'pending'
              ? 'When the owner of an app asks to show it to more people, the request stands here, and you are notified.'
              : 'Choose another status to see other requests.'}
          </Empty>
        }
      >
        {(items) => <RequestTable tenant={tenant.slug} requests={items} />}
      </PagedList>
    </Stack>
  );
}
