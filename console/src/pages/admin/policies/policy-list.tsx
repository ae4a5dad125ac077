import { Stack, Table, Text } from '@mantine/core';
import { deletePolicy, listPolicies } from '@svc/contract/access-policies.ts';
import { useState } from 'react';
import { useTenant } from '../../../api/me.ts';
import { isCode } from '../../../api/query-client.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { LinkTo } from '../../../parts/link-to.tsx';
import { Pager } from '../../../parts/pager.tsx';
import { PastTheEnd } from '../../../parts/past-the-end.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { usePage } from '../../../parts/use-search-value.ts';
import { adminPath } from '../admin-path.ts';
import { ListHead, NewButton } from '../list-head.tsx';
import { RowButton } from '../row-button.tsx';
import { useNames } from '../use-names.ts';
import type { PolicyRecord } from './policy-draft.ts';

export function PolicyList() {
  const tenant = useTenant();
  const page = usePage();
  const names = useNames();
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
    <AnswerView answer={answer}>
      {({ items, page: shown, per_page: perPage, total }) =>
        items.length === 0 && shown > 1 ? (
          <PastTheEnd />
        ) : total === 0 ? (
          <Empty
            title="No access policy yet"
            command="svc policies create --name 'own region' --row-filter region=eq.eu --execute"
            action={<NewButton to={path('new')} label="New policy" />}
          >
            A policy says which rows and columns are seen, and which are masked. A grant that names it shows
            only that.
          </Empty>
        ) : (
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
            <Table.ScrollContainer minWidth={680}>
              <Table highlightOnHover verticalSpacing="sm" aria-label="Access policies">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Policy</Table.Th>
                    <Table.Th>Applies to</Table.Th>
                    <Table.Th>Rows</Table.Th>
                    <Table.Th>Columns</Table.Th>
                    <Table.Th>State</Table.Th>
                    <Table.Th>Actions</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {items.map((policy) => (
                    <Table.Tr key={policy.id}>
                      <Table.Td>
                        <Stack gap={0}>
                          <LinkTo to={path(policy.id)} fw={600}>
                            {policy.name}
                          </LinkTo>
                          {policy.description && (
                            <Text size="sm" c="dimmed" lineClamp={2}>
                              {policy.description}
                            </Text>
                          )}
                        </Stack>
                      </Table.Td>
                      <Table.Td>
                        {policy.connector_id === ''
                          ? 'any connector'
                          : names.connectorName(policy.connector_id)}
                        {policy.resource_path && `, ${policy.resource_path}`} ({policy.actions.join(', ')})
                      </Table.Td>
                      <Table.Td className="mono">{policy.row_filter || 'all'}</Table.Td>
                      <Table.Td>{columnsText(policy)}</Table.Td>
                      <Table.Td>
                        <StateBadge state={policy.enabled ? 'active' : 'off'} />
                      </Table.Td>
                      <Table.Td>
                        <RowButton
                          verb="Delete"
                          name={`policy ${policy.name}`}
                          onClick={() => {
                            setAsked(policy);
                            void remove.propose({ params: { ...params, policyID: policy.id } });
                          }}
                        />
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
            <Pager page={shown} perPage={perPage} total={total} />
          </>
        )
      }
    </AnswerView>
  );
}

function columnsText({ columns: { mode, names }, masks }: PolicyRecord): string {
  const seen =
    mode === 'all' ? 'all' : `${mode === 'allow' ? 'only' : 'all but'} ${names.join(', ') || 'none'}`;
  return masks.length === 0 ? seen : `${seen}; ${masks.map(({ column }) => column).join(', ')} masked`;
}
