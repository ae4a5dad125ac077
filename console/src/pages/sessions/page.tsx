import { Badge, Group, Text } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import { listSessions, revokeSession } from '@svc/contract/identity.ts';
import { IconAppWindow, IconBrowser, IconTerminal2 } from '@tabler/icons-react';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { useChange } from '../../change/use-change.ts';
import { RowButton } from '../../components/buttons.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { TimeText } from '../../components/display.tsx';
import { EmptyState, PageHead } from '../../components/page-layout.tsx';
import { PagedList } from '../../components/paged-list.tsx';
import { ProblemAlert } from '../../components/problem-alert.tsx';
import { Hint } from '../../components/text.tsx';
import { usePage } from '../../components/url-state.ts';

type Session = Answer<NonNullable<typeof listSessions.shape>>['items'][number];

const kinds = {
  browser: { label: 'Browser', icon: IconBrowser },
  cli: { label: 'Command line', icon: IconTerminal2 },
  app: { label: 'Signed in to an app', icon: IconAppWindow },
} as const;

export default function SessionsPage() {
  return (
    <>
      <PageHead title="Sessions" lead="Where you are signed in. End sessions that you do not recognise." />
      <SessionList />
    </>
  );
}

export function SessionList() {
  const page = usePage();
  const answer = useEndpoint(listSessions, { query: { page } });
  const end = useChange(revokeSession, {
    title: 'End a session',
    verb: 'End session',
    done: 'Session ended.',
  });
  return (
    <>
      <ProblemAlert error={end.problem} />
      <PagedList
        answer={answer}
        empty={
          <EmptyState title="No sessions" command="svc sessions list">
            Every sign-in with a browser or the command line is listed here until it ends.
          </EmptyState>
        }
      >
        {(items) => (
          <DataTable
            label="Sessions"
            minWidth={560}
            rows={items}
            columns={[
              { head: 'Session', cell: (session) => <SessionName session={session} /> },
              {
                head: 'Device',
                cell: ({ device, address }) => (
                  <>
                    <Text size="sm">{device || '–'}</Text>
                    {address && <Hint>{address}</Hint>}
                  </>
                ),
              },
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
              this session
            </Badge>
          )}
        </Group>
        <Hint>{client}</Hint>
      </div>
    </Group>
  );
}
