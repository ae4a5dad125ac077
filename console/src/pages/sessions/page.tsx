import { Badge, Group, Text } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import { listSessions, revokeSession } from '@svc/contract/identity.ts';
import { IconAppWindow, IconBrowser, IconTerminal2 } from '@tabler/icons-react';
import { useAnswer } from '../../api/use-answer.ts';
import { useChange } from '../../change/use-change.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { Empty } from '../../parts/empty.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { PagedList } from '../../parts/paged-list.tsx';
import { ProblemAlert } from '../../parts/problem-alert.tsx';
import { TimeText } from '../../parts/time-text.tsx';
import { usePage } from '../../parts/use-search-value.ts';
import { RowButton } from '../admin/row-button.tsx';

type Session = Answer<NonNullable<typeof listSessions.shape>>['items'][number];

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
      <PagedList
        answer={answer}
        empty={
          <Empty title="No session" command="svc sessions list">
            Each sign-in with a browser or by the command line stands here until it ends.
          </Empty>
        }
      >
        {(items) => (
          <DataTable
            label="Sessions"
            minWidth={560}
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              { head: 'Session', cell: (session) => <SessionName session={session} /> },
              { head: 'Since', cell: (session) => <TimeText value={session.created_at} /> },
              { head: 'Ends', cell: (session) => <TimeText value={session.expires_at} /> },
              {
                head: 'Actions',
                cell: ({ id, kind, current }) => (
                  <RowButton
                    verb={current ? 'Sign out' : 'End'}
                    name={`session ${kinds[kind].label}, ${id.slice(0, 8)}`}
                    onClick={() => void end.propose({ params: { sessionID: id } })}
                  />
                ),
              },
            ]}
          />
        )}
      </PagedList>
    </>
  );
}

function SessionName({ session: { kind, current, client } }: { session: Session }) {
  const { label, icon: Icon } = kinds[kind];
  return (
    <Group gap="sm" wrap="nowrap">
      <Icon size={20} aria-hidden />
      <div>
        <Group gap={6}>
          <Text fw={600}>{label}</Text>
          {current && (
            <Badge variant="light" radius="sm" tt="none">
              this one
            </Badge>
          )}
        </Group>
        <Text size="sm" c="dimmed">
          {client}
        </Text>
      </div>
    </Group>
  );
}
