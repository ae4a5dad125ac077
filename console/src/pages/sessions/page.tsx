import { Badge, Group, Table, Text } from '@mantine/core';
import { listSessions, revokeSession } from '@svc/contract/identity.ts';
import { IconAppWindow, IconBrowser, IconTerminal2 } from '@tabler/icons-react';
import { useAnswer } from '../../api/use-answer.ts';
import { useChange } from '../../change/use-change.ts';
import { AnswerView } from '../../parts/answer-view.tsx';
import { Empty } from '../../parts/empty.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Pager } from '../../parts/pager.tsx';
import { PastTheEnd } from '../../parts/past-the-end.tsx';
import { ProblemAlert } from '../../parts/problem-alert.tsx';
import { TimeText } from '../../parts/time-text.tsx';
import { usePage } from '../../parts/use-search-value.ts';
import { RowButton } from '../admin/row-button.tsx';

const kinds = {
  browser: { label: 'Browser', icon: IconBrowser },
  cli: { label: 'Command line', icon: IconTerminal2 },
  app: { label: 'Signed in to an app', icon: IconAppWindow },
} as const;

export default function SessionsPage() {
  const page = usePage();
  const answer = useAnswer(listSessions, { query: { page } });
  const end = useChange(revokeSession, {
    title: 'End a session',
    verb: 'End session',
    done: 'The session is ended.',
  });
  return (
    <>
      <PageHead title="Sessions" lead="Where you are signed in. End one that you do not know." />
      {end.problem !== null && <ProblemAlert error={end.problem} />}
      <AnswerView answer={answer}>
        {({ items, page: shown, per_page: perPage, total }) =>
          items.length === 0 && shown > 1 ? (
            <PastTheEnd />
          ) : items.length === 0 ? (
            <Empty title="No session" command="svc sessions list">
              Each sign-in with a browser or by the command line stands here until it ends.
            </Empty>
          ) : (
            <>
              <Table.ScrollContainer minWidth={560}>
                <Table highlightOnHover verticalSpacing="sm" aria-label="Sessions">
                  <Table.Thead>
                    <Table.Tr>
                      <Table.Th>Session</Table.Th>
                      <Table.Th>Since</Table.Th>
                      <Table.Th>Ends</Table.Th>
                      <Table.Th>Actions</Table.Th>
                    </Table.Tr>
                  </Table.Thead>
                  <Table.Tbody>
                    {items.map((session) => {
                      const { label, icon: Icon } = kinds[session.kind];
                      return (
                        <Table.Tr key={session.id}>
                          <Table.Td>
                            <Group gap="sm" wrap="nowrap">
                              <Icon size={20} aria-hidden />
                              <div>
                                <Group gap={6}>
                                  <Text fw={600}>{label}</Text>
                                  {session.current && (
                                    <Badge variant="light" radius="sm" tt="none">
                                      this one
                                    </Badge>
                                  )}
                                </Group>
                                <Text size="sm" c="dimmed">
                                  {session.client}
                                </Text>
                              </div>
                            </Group>
                          </Table.Td>
                          <Table.Td>
                            <TimeText value={session.created_at} />
                          </Table.Td>
                          <Table.Td>
                            <TimeText value={session.expires_at} />
                          </Table.Td>
                          <Table.Td>
                            <RowButton
                              verb={session.current ? 'Sign out' : 'End'}
                              name={`session ${label}, ${session.id.slice(0, 8)}`}
                              onClick={() => void end.propose({ params: { sessionID: session.id } })}
                            />
                          </Table.Td>
                        </Table.Tr>
                      );
                    })}
                  </Table.Tbody>
                </Table>
              </Table.ScrollContainer>
              <Pager page={shown} perPage={perPage} total={total} />
            </>
          )
        }
      </AnswerView>
    </>
  );
}
