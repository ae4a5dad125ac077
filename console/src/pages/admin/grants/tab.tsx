import { Select } from '@mantine/core';
import { grantStatuses, listGrants } from '@svc/contract/grants.ts';
import { useTenant } from '../../../api/me.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { NewButton } from '../../../components/buttons.tsx';
import { EmptyState } from '../../../components/page-layout.tsx';
import { ListHead, PagedList } from '../../../components/paged-list.tsx';
import { usePage, useUrlValue } from '../../../components/url-state.ts';
import { MemberSelect, useTenantNames } from '../fields.tsx';
import { AdminRoutes, adminPath } from '../form-page.tsx';
import { GrantTable } from './grant-table.tsx';
import { GrantView } from './grant-view.tsx';
import { NewGrant } from './new-grant.tsx';

export default function GrantsTab() {
  return <AdminRoutes list={GrantList} create={NewGrant} item={GrantView} />;
}

function GrantList() {
  const tenant = useTenant();
  const { connectors } = useTenantNames();
  const [status, setStatus] = useUrlValue('status');
  const [subject, setSubject] = useUrlValue('subject');
  const [connector, setConnector] = useUrlValue('connector');
  const page = usePage();
  const known = grantStatuses.find((one) => one === status);
  const answer = useEndpoint(listGrants, {
    params: { tenantID: tenant.id },
    query: {
      page,
      status: known,
      subject_id: subject || undefined,
      connector_id: connector || undefined,
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
          <EmptyState
            title={isFiltered ? 'No grant matches' : 'No grants yet'}
            command="svc grants create --subject anna@example.com --connector warehouse --preset reader --execute"
            action={<NewButton to={create} label="New grant" />}
          >
            {isFiltered
              ? 'Clear a filter to see more.'
              : 'A grant lets a member use a connector with the actions of a preset, within a scope. Without a grant nobody has access.'}
          </EmptyState>
        }
      >
        {(items) => <GrantTable label="Grants" grants={items} />}
      </PagedList>
    </>
  );
}
