import { Stack } from '@mantine/core';
import { deletePolicy, listPolicies } from '@svc/contract/access-policies.ts';
import { useState } from 'react';
import { useTenant } from '../../../api/me.ts';
import { isCode } from '../../../api/query-client.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { DataTable } from '../../../parts/data-table.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { NewButton } from '../../../parts/new-button.tsx';
import { PagedList } from '../../../parts/paged-list.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { usePage } from '../../../parts/use-search-value.ts';
import { adminPath } from '../admin-path.ts';
import { ListHead } from '../list-head.tsx';
import { NameCell } from '../name-cell.tsx';
import { RowButton } from '../row-button.tsx';
import { useTenantNames } from '../use-tenant-names.ts';
import type { PolicyRecord } from './policy-draft.ts';

export function PolicyList() {
  const tenant = useTenant();
  const page = usePage();
  const names = useTenantNames();
  const params = { tenantID: tenant.id };
  const answer = useAnswer(listPolicies, { params, query: { page } });
  const [asked, setAsked] = useState<PolicyRecord | null>(null);
  const remove = useChange(deletePolicy, {
    title: 'Delete an access policy',
    verb: 'Delete',
    done: 'The policy is deleted.',
  });
  const path = (part: string) => adminPath(tenant.slug, 'policies', part);
  const isInUse = isCode(remove.problem, 'policy_in_use');
  return (
    <PagedList
      answer={answer}
      empty={
        <Empty
          title="No access policy yet"
          command="svc policies create --name 'own region' --row-filter region=eq.eu --execute"
          action={<NewButton to={path('new')} label="New policy" />}
        >
          A policy says which rows and columns are seen, and which are masked. A grant that names it shows
          only that.
        </Empty>
      }
    >
      {(items) => (
        <>
          <ListHead to={path('new')} label="New policy" />
          {remove.problem !== null && (
            <Stack gap="xs" mb="md">
              <ProblemAlert error={remove.problem} />
              {isInUse && asked && (
                <LinkTo to={path(asked.id)}>Show the grants that name {asked.name}</LinkTo>
              )}
            </Stack>
          )}
          <DataTable
            label="Access policies"
            minWidth={680}
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              {
                head: 'Policy',
                cell: ({ id, name, description }) => (
                  <NameCell to={path(id)} name={name} description={description} />
                ),
              },
              {
                head: 'Applies to',
                cell: (policy) => (
                  <>
                    {policy.connector_id === '' ? 'any connector' : names.connectorName(policy.connector_id)}
                    {policy.resource_path && `, ${policy.resource_path}`} ({policy.actions.join(', ')})
                  </>
                ),
              },
              { head: 'Rows', cell: (policy) => policy.row_filter || 'all', td: { className: 'mono' } },
              { head: 'Columns', cell: columnsText },
              { head: 'State', cell: ({ enabled }) => <StateBadge state={enabled ? 'active' : 'off'} /> },
              {
                head: 'Actions',
                cell: (policy) => (
                  <RowButton
                    verb="Delete"
                    name={`policy ${policy.name}`}
                    onClick={() => {
                      setAsked(policy);
                      void remove.propose({ params: { ...params, policyID: policy.id } });
                    }}
                  />
                ),
              },
            ]}
          />
        </>
      )}
    </PagedList>
  );
}

function columnsText({ columns: { mode, names }, masks }: PolicyRecord): string {
  const seen =
    mode === 'all' ? 'all' : `${mode === 'allow' ? 'only' : 'all but'} ${names.join(', ') || 'none'}`;
  return masks.length === 0 ? seen : `${seen}; ${masks.map(({ column }) => column).join(', ')} masked`;
}
