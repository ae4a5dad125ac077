import { Select } from '@mantine/core';
import { type GrantStatus, grantStatuses, listGrants } from '@svc/contract/grants.ts';
import { useTenant } from '../../../api/me.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { Empty } from '../../../parts/empty.tsx';
import { NewButton } from '../../../parts/new-button.tsx';
import { PagedList } from '../../../parts/paged-list.tsx';
import { usePage, useSearchValue } from '../../../parts/use-search-value.ts';
import { adminPath } from '../admin-path.ts';
import { ListHead } from '../list-head.tsx';
import { MemberSelect } from '../member-select.tsx';
import { useTenantNames } from '../use-tenant-names.ts';
import { GrantTable } from './grant-table.tsx';

export function GrantList() {
  const tenant = useTenant();
  const { connectors } = useTenantNames();
  const [status, setStatus] = useSearchValue('status');
  const [subject, setSubject] = useSearchValue('subject');
  const [connector, setConnector] = useSearchValue('connector');
  const page = usePage();
  const known = grantStatuses.find((one) => one === status);
  const answer = useAnswer(listGrants, {
    params: { tenantID: tenant.id },
    query: {
      page,
      ...(known ? { status: known satisfies GrantStatus } : {}),
      ...(subject ? { subject_id: subject } : {}),
      ...(connector ? { connector_id: connector } : {}),
    },
  });
  const isFiltered = known !== undefined || subject !== '' || connector !== '';
  const create = adminPath(tenant.slug, 'grants', 'new');
  return (
    <>
      <ListHead to={create} label="New grant">
        <Select
          label="Status"
          placeholder="Any"
          data={[...grantStatuses]}
          value={known ?? null}
          onChange={(next) => setStatus(next ?? '')}
          clearable
          clearButtonProps={{ 'aria-label': 'Clear status' }}
          w={{ base: '100%', xs: 130 }}
        />
        <MemberSelect
          label="Subject"
          placeholder="Anybody"
          value={subject}
          onChange={setSubject}
          w={{ base: '100%', xs: 220 }}
        />
        <Select
          label="Connector"
          placeholder="Any"
          data={connectors.map(({ id, name }) => ({ value: id, label: name }))}
          value={connector || null}
          onChange={(next) => setConnector(next ?? '')}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': 'Clear connector' }}
          w={{ base: '100%', xs: 180 }}
        />
      </ListHead>
      <PagedList
        answer={answer}
        empty={
          <Empty
            title={isFiltered ? 'No grant is like that' : 'No grant yet'}
            command="svc grants create --subject anna@example.com --connector warehouse --preset reader --execute"
            action={<NewButton to={create} label="New grant" />}
          >
            {isFiltered
              ? 'Clear a filter to see more.'
              : 'A grant lets a member use a connector, with a preset of actions, within a scope. Without one nobody reaches it.'}
          </Empty>
        }
      >
        {(items) => <GrantTable label="Grants" grants={items} />}
      </PagedList>
    </>
  );
}
