import { Badge, Group, Stack, Table, Text, Title } from '@mantine/core';
import { grantsPerTableMax } from '@svc/contract/columns.ts';
import { issueTableGrant, listTableGrants, revokeTableGrant } from '@svc/contract/tables.ts';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useAnswer } from '../../../../api/use-answer.ts';
import { useChange } from '../../../../change/use-change.ts';
import { AnswerView } from '../../../../parts/answer-view.tsx';
import { Empty } from '../../../../parts/empty.tsx';
import { MayButton } from '../../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../../parts/problem-alert.tsx';
import { TimeText } from '../../../../parts/time-text.tsx';
import { useTable } from '../use-table.ts';
import { IssueDialog } from './issue-dialog.tsx';
import { nameOf, principalLabels } from './principals.ts';

export function GrantsPart() {
  const { table, app, params, why, whyShape } = useTable();
  const [isOpen, setOpen] = useState(false);
  const answer = useAnswer(listTableGrants, { params, query: { per_page: grantsPerTableMax } });
  const revoke = useChange(revokeTableGrant, {
    title: 'End the grant',
    verb: 'End grant',
    done: 'The grant is ended.',
  });
  const issue = (
    <MayButton
      why={whyShape(issueTableGrant)}
      leftSection={<IconPlus size={16} aria-hidden />}
      onClick={() => setOpen(true)}
    >
      Let somebody in
    </MayButton>
  );
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={3} size="h4">
          Table grants
        </Title>
        {issue}
      </Group>
      {revoke.problem !== null && <ProblemAlert error={revoke.problem} />}
      <AnswerView answer={answer} lines={2}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty
              title="No grants"
              command={`svc tables grants issue --app ${app.slug} --table ${table.name} --principal-type role --principal-id tenant_member --actions read --execute`}
            >
              The table is reached by the app alone. A grant lets in a person, another app, or everybody with
              a role.
            </Empty>
          ) : (
            <Table.ScrollContainer minWidth={560}>
              <Table aria-label="Table grants" verticalSpacing="xs">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Who</Table.Th>
                    <Table.Th>May</Table.Th>
                    <Table.Th>Since</Table.Th>
                    <Table.Th>Change</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {items.map((grant) => (
                    <Table.Tr key={grant.id}>
                      <Table.Td>
                        <Text size="sm" fw={600}>
                          {nameOf(grant)}
                        </Text>
                        <Text size="sm" c="dimmed">
                          {principalLabels[grant.principal_type]}
                        </Text>
                      </Table.Td>
                      <Table.Td>
                        <Group gap={4}>
                          {grant.actions.map((action) => (
                            <Badge key={action} variant="light" tt="none">
                              {action}
                            </Badge>
                          ))}
                        </Group>
                      </Table.Td>
                      <Table.Td>
                        <TimeText value={grant.created_at} />
                      </Table.Td>
                      <Table.Td>
                        <MayButton
                          why={why(revokeTableGrant)}
                          size="compact-sm"
                          variant="default"
                          onClick={() => void revoke.propose({ params: { ...params, grantID: grant.id } })}
                          aria-label={`End the grant of ${nameOf(grant)}`}
                        >
                          End
                        </MayButton>
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          )
        }
      </AnswerView>
      {isOpen && <IssueDialog onClose={() => setOpen(false)} />}
    </Stack>
  );
}
