import { Badge, Group, Stack, Text, Title } from '@mantine/core';
import { grantsPerTableMax } from '@svc/contract/columns.ts';
import { issueTableGrant, listTableGrants, revokeTableGrant } from '@svc/contract/tables.ts';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { useAnswer } from '../../../../api/use-answer.ts';
import { useChange } from '../../../../change/use-change.ts';
import { AnswerView } from '../../../../parts/answer-view.tsx';
import { DataTable } from '../../../../parts/data-table.tsx';
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
            <DataTable
              label="Table grants"
              minWidth={560}
              highlightOnHover={false}
              verticalSpacing="xs"
              rows={items}
              keyOf={({ id }) => id}
              columns={[
                {
                  head: 'Who',
                  cell: (grant) => (
                    <>
                      <Text size="sm" fw={600}>
                        {nameOf(grant)}
                      </Text>
                      <Text size="sm" c="dimmed">
                        {principalLabels[grant.principal_type]}
                      </Text>
                    </>
                  ),
                },
                {
                  head: 'May',
                  cell: ({ actions }) => (
                    <Group gap={4}>
                      {actions.map((action) => (
                        <Badge key={action} variant="light" tt="none">
                          {action}
                        </Badge>
                      ))}
                    </Group>
                  ),
                },
                { head: 'Since', cell: (grant) => <TimeText value={grant.created_at} /> },
                {
                  head: 'Change',
                  cell: (grant) => (
                    <MayButton
                      why={why(revokeTableGrant)}
                      size="compact-sm"
                      variant="default"
                      onClick={() => void revoke.propose({ params: { ...params, grantID: grant.id } })}
                      aria-label={`End the grant of ${nameOf(grant)}`}
                    >
                      End
                    </MayButton>
                  ),
                },
              ]}
            />
          )
        }
      </AnswerView>
      {isOpen && <IssueDialog onClose={() => setOpen(false)} />}
    </Stack>
  );
}
