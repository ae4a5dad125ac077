import { Code, Group, MultiSelect, type MultiSelectProps, SimpleGrid, Stack } from '@mantine/core';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import {
  approveGrantRequest,
  getGrantRequest,
  grantRequestStates,
  listRequestPolicies,
  rejectGrantRequest,
  withdrawGrantRequest,
} from '@svc/contract/grant-requests.ts';
import { policiesPerGrantMax, reasonCharsMax } from '@svc/contract/grants.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { useParams } from 'wouter';
import { isMissing } from '../../api/client.ts';
import { useMe, useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { useChange } from '../../change/use-change.ts';
import { ChangeButton } from '../../components/buttons.tsx';
import { DetailTable } from '../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../components/display.tsx';
import { DecisionForm } from '../../components/form-card.tsx';
import { PageHead, Section, SmallLink } from '../../components/page-layout.tsx';
import { ProblemAlerts } from '../../components/problem-alert.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { useForm } from '../../components/use-form.ts';
import { NotFound } from '../../layout/not-found.tsx';
import { hoursText } from './rules.ts';

export default function GrantRequestPage() {
  const tenant = useTenant();
  const { request = '' } = useParams<{ request: string }>();
  const answer = useEndpoint(getGrantRequest, { params: { tenantID: tenant.id, request } });
  if (isMissing(answer.error)) return <NotFound error={answer.error} />;
  return <QueryView answer={answer}>{(found) => <RequestView request={found} />}</QueryView>;
}

type GrantRequest = Answer<NonNullable<typeof getGrantRequest.shape>>;

function RequestView({ request }: { request: GrantRequest }) {
  const tenant = useTenant();
  const scope = request.scope_resource_paths;
  const by = request.decided_by_email ? ` by ${request.decided_by_email}` : '';
  return (
    <>
      <PageHead
        title={`Access to ${request.connector_name || 'a deleted connector'}`}
        lead={
          <Group gap="sm">
            <StateBadge state={request.status} />
            <SmallLink to={consolePaths.grantRequests(tenant.slug)}>All requests</SmallLink>
          </Group>
        }
      />
      <Stack>
        <Section title="Request">
          <DetailTable
            label="Request"
            details={{
              'Requested by': request.requested_by_email,
              Preset: request.preset_name,
              Scope:
                scope.length === 0 ? (
                  'the whole connector'
                ) : (
                  <Group gap={6}>
                    {scope.map((path) => (
                      <Code key={path}>{path}</Code>
                    ))}
                  </Group>
                ),
              For: hoursText(request.duration_seconds),
              Reason: request.reason,
              Requested: <TimeText value={request.requested_at} />,
              'Waits until': request.status === 'pending' && <TimeText value={request.expires_at} />,
              Decided: request.decided_at !== null && (
                <>
                  <TimeText value={request.decided_at} />
                  {by}
                </>
              ),
              Note: request.decision_reason,
            }}
          />
        </Section>
        <Decision request={request} />
      </Stack>
    </>
  );
}

function Decision({ request }: { request: GrantRequest }) {
  const tenant = useTenant();
  const isMine = useMe().id === request.requested_by;
  const params = { tenantID: tenant.id, request: request.id };
  const isOpen = grantRequestStates.approve.some((status) => status === request.status);
  const why = !isOpen
    ? `The request is ${request.status}.`
    : request.can_decide
      ? null
      : 'Another owner of the connector, or a tenant admin, decides.';
  const approveRecord = { reason: '', policy_ids: [] as string[] };
  const approve = useForm(approveGrantRequest, approveRecord, {
    title: 'Approve the request',
    done: 'Request approved. The time starts now.',
    whyNot: () => why,
    input: (body) => ({ params, body }),
  });
  const rejectRecord = { reason: '' };
  const reject = useForm(rejectGrantRequest, rejectRecord, {
    title: 'Reject the request',
    done: 'Request rejected. The requester is notified of the reason.',
    whyNot: ({ reason }) => why ?? (reason.trim() === '' ? 'Enter a reason first.' : null),
    input: (body) => ({ params, body }),
  });
  const withdraw = useChange(withdrawGrantRequest, {
    title: 'Withdraw the request',
    done: 'Request withdrawn.',
  });
  if (!isOpen) return null;
  return (
    <Section title="Decision" lead={why}>
      {request.can_decide && (
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
          <DecisionForm
            form={approve}
            verb="Approve"
            fields={<PolicySelect request={request.id} {...approve.field('policy_ids')} />}
            text={{
              ...approve.field('reason'),
              label: 'Note',
              description: 'Optional; shown to the requester.',
              maxLength: reasonCharsMax,
            }}
          />
          <DecisionForm
            form={reject}
            verb="Reject"
            text={{
              ...reject.field('reason'),
              label: 'Reason for rejection',
              description: 'Shown to the requester.',
              maxLength: reasonCharsMax,
            }}
          />
        </SimpleGrid>
      )}
      {isMine && (
        <Group>
          <ChangeButton why={null} change={withdraw} input={{ params }}>
            Withdraw
          </ChangeButton>
        </Group>
      )}
      <ProblemAlerts changes={[approve, reject, withdraw]} />
    </Section>
  );
}

/** Policies that apply come first; those that narrow everybody's access need not be chosen. */
function PolicySelect({ request, ...field }: { request: string } & MultiSelectProps) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id, request };
  const answer = useEndpoint(listRequestPolicies, { params, query: { per_page: perPageMax } });
  const policies = answer.data?.items ?? [];
  const enforced = policies.filter((policy) => policy.enforced && policy.applies);
  const options = (applies: boolean) =>
    policies
      .filter((policy) => !policy.enforced && policy.applies === applies)
      .map(({ id, name }) => ({ value: id, label: name }));
  const always = enforced.map(({ name }) => `“${name}”`).join(', ');
  return (
    <MultiSelect
      {...field}
      label="Access policies"
      description={`Limit rows and columns. Without a policy everything that was requested is visible${
        always && `, except for what the enforced ${always} hides`
      }.`}
      placeholder={answer.data && options(true).length === 0 ? 'No policy applies' : undefined}
      data={[
        { group: 'For the requested tables', items: options(true) },
        { group: 'Other policies', items: options(false) },
      ].filter(({ items }) => items.length > 0)}
      maxValues={policiesPerGrantMax}
      searchable
    />
  );
}
