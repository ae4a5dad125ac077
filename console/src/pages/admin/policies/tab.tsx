import { Stack, Text } from '@mantine/core';
import {
  createPolicy,
  deletePolicy,
  getPolicy,
  listPolicies,
  updatePolicy,
} from '@svc/contract/access-policies.ts';
import { listGrants } from '@svc/contract/grants.ts';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { isCode } from '../../../api/client.ts';
import { useTenant } from '../../../api/me.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ChangeButton, RowButton } from '../../../components/buttons.tsx';
import { NameCell } from '../../../components/data-table.tsx';
import { StateBadge } from '../../../components/display.tsx';
import { LinkTo } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { Heading } from '../../../components/text.tsx';
import { usePage } from '../../../components/url-state.ts';
import { useTenantNames } from '../fields.tsx';
import { AdminItem, AdminList, AdminRoutes, adminPath, useAdminForm } from '../form-page.tsx';
import { GrantTable } from '../grants/grant-table.tsx';
import { PolicyWarnings } from '../policy-warnings.tsx';
import { AccessCheck } from './access-check.tsx';
import { emptyPolicy, type Policy, policyBody, policyDraft, policyErrors } from './policy-draft.ts';
import { PolicyForm } from './policy-form.tsx';

export default function PoliciesTab() {
  return <AdminRoutes list={PoliciesOverview} create={NewPolicy} item={PolicyPage} />;
}

function PoliciesOverview() {
  return (
    <Stack gap="xl">
      <div>
        <PolicyList />
      </div>
      <AccessCheck />
    </Stack>
  );
}

function NewPolicy() {
  const tenant = useTenant();
  const form = useAdminForm(createPolicy, 'policies', emptyPolicy, {
    title: 'Create an access policy',
    done: 'Policy created.',
    errors: policyErrors,
    input: (draft) => ({ params: { tenantID: tenant.id }, body: policyBody(draft) }),
  });
  return <PolicyForm title="New access policy" savedFilter="" form={form} />;
}

function PolicyList() {
  const tenant = useTenant();
  const names = useTenantNames();
  const params = { tenantID: tenant.id };
  const answer = useEndpoint(listPolicies, { params, query: { page: usePage() } });
  const [deleting, setDeleting] = useState<Policy | null>(null);
  const remove = useChange(deletePolicy, { title: 'Delete an access policy', done: 'Policy deleted.' });
  const path = (part: string) => adminPath(tenant.slug, 'policies', part);
  const isInUse = isCode(remove.problem, 'policy_in_use');
  return (
    <AdminList
      tab="policies"
      noun="policy"
      answer={answer}
      problem={
        remove.problem !== null && (
          <Stack gap="xs" mb="md">
            <ProblemAlert error={remove.problem} />
            {isInUse && deleting && (
              <LinkTo to={path(deleting.id)}>Show the grants that use {deleting.name}</LinkTo>
            )}
          </Stack>
        )
      }
      command="svc policies create --name 'own region' --row-filter region=eq.eu --execute"
      lead="A policy limits which rows and columns are visible and which are masked. It applies to the grants that use it."
      label="Access policies"
      minWidth={680}
      columns={[
        {
          head: 'Policy',
          cell: ({ id, name, description }) => (
            <NameCell to={path(id)} name={name} description={description} lineClamp={2} />
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
        {
          head: 'State',
          cell: ({ enabled }) => <StateBadge state={enabled ? 'active' : 'disabled'} />,
        },
        {
          head: 'Actions',
          cell: (policy) => (
            <RowButton
              verb="Delete"
              name={`policy ${policy.name}`}
              onClick={() => {
                setDeleting(policy);
                void remove.propose({ params: { ...params, policyID: policy.id } });
              }}
            />
          ),
        },
      ]}
    />
  );
}

function columnsText({ columns: { mode, names }, masks }: Policy): string {
  const visible =
    mode === 'all' ? 'all' : `${mode === 'allow' ? 'only' : 'all except'} ${names.join(', ') || 'none'}`;
  return masks.length === 0 ? visible : `${visible}; ${masks.map(({ column }) => column).join(', ')} masked`;
}

function PolicyPage({ id }: { id: string }) {
  const tenant = useTenant();
  const answer = useEndpoint(getPolicy, { params: { tenantID: tenant.id, policyID: id } });
  return (
    <AdminItem tab="policies" what="policy" answer={answer}>
      {(policy) => <EditPolicy policy={policy} />}
    </AdminItem>
  );
}

function EditPolicy({ policy }: { policy: Policy }) {
  const tenant = useTenant();
  const [, go] = useLocation();
  const params = { tenantID: tenant.id, policyID: policy.id };
  const grants = useEndpoint(listGrants, {
    params: { tenantID: tenant.id },
    query: { policy_id: policy.id, status: 'active' },
  });
  const form = useAdminForm(updatePolicy, 'policies', policyDraft(policy), {
    title: 'Update an access policy',
    verb: 'Save',
    done: 'Policy saved.',
    errors: policyErrors,
    input: (draft) => ({ params, body: policyBody(draft) }),
  });
  const remove = useChange(deletePolicy, {
    title: 'Delete an access policy',
    done: 'Policy deleted.',
    onDone: () => go(adminPath(tenant.slug, 'policies')),
  });
  const count = grants.data?.total ?? 0;
  const inUse = count === 0 ? null : `${grantCount(count)} it. Revoke ${count === 1 ? 'it' : 'them'} first.`;
  return (
    <Stack>
      <PolicyWarnings policy={policy.id} />
      <PolicyForm
        title={policy.name}
        savedFilter={policy.row_filter}
        form={form}
        actions={
          <ChangeButton why={inUse} variant="outline" color="red" change={remove} input={{ params }}>
            Delete policy
          </ChangeButton>
        }
      />
      <ProblemAlert error={remove.problem} />
      <Heading>Affected grants</Heading>
      <QueryView answer={grants} lines={2}>
        {({ items, total }) =>
          total === 0 ? (
            <Text c="dimmed">No active grant uses this policy, so it limits nobody yet.</Text>
          ) : (
            <>
              <Text>
                {grantCount(total)} it{policy.enabled ? '.' : ' and are not limited while it is disabled.'}
              </Text>
              <GrantTable label="Grants that use the policy" grants={items} />
            </>
          )
        }
      </QueryView>
    </Stack>
  );
}

const grantCount = (count: number) => (count === 1 ? 'One active grant uses' : `${count} active grants use`);
