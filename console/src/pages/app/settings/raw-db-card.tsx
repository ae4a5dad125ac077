import { Group, Text } from '@mantine/core';
import { disableRawDb, enableRawDb, getRawDb, rotateRawDb } from '@svc/contract/raw-db.ts';
import { useState } from 'react';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ChangeButton } from '../../../components/buttons.tsx';
import { DetailTable } from '../../../components/data-table.tsx';
import { StateBadge } from '../../../components/display.tsx';
import { OneTimeSecret } from '../../../components/one-time-secret.tsx';
import { Section } from '../../../components/page-layout.tsx';
import { ProblemAlerts } from '../../../components/problem-alert.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';

const pollMs = 1_000;

export function RawDbCard() {
  const { app, params, why } = useApp();
  const [secret, setSecret] = useState<string | null>(null);
  const answer = useEndpoint(
    getRawDb,
    { params },
    { refetchMs: (last) => (last && ['creating', 'dropping'].includes(last.status) ? pollMs : false) },
  );
  const enable = useChange(enableRawDb, {
    title: 'Enable database',
    done: 'The database is being created.',
    onDone: ({ connection_string: secretUrl }) => setSecret(secretUrl ?? null),
  });
  const rotate = useChange(rotateRawDb, {
    title: 'Rotate the database password',
    verb: 'Rotate password',
    done: 'Password rotated. The old one no longer works.',
    onDone: ({ connection_string: secretUrl }) => setSecret(secretUrl),
  });
  const disable = useChange(disableRawDb, {
    title: 'Drop the database and all its data',
    verb: 'Drop database',
    done: 'Database dropped.',
    onDone: () => setSecret(null),
  });
  const notActive = whyNotActive(app);
  return (
    <Section
      title="Database"
      lead="A PostgreSQL database for programs that need SQL. It is separate from the tables in the Tables tab."
    >
      <QueryView answer={answer} lines={2}>
        {({ enabled, status, host, port, database, role, connections_max: most }) => (
          <>
            <Group gap="sm">
              <StateBadge
                state={status === 'ready' ? 'active' : status === 'none' ? 'none' : 'pending'}
                label={status === 'none' ? 'none' : status}
              />
              {!enabled && <Text size="sm">The app has no database.</Text>}
            </Group>
            {enabled && (
              <DetailTable
                label="Database"
                details={{
                  Host: <span className="mono">{`${host}:${port}`}</span>,
                  Database: <span className="mono">{database}</span>,
                  Role: <span className="mono">{role}</span>,
                  Connections: `at most ${most}`,
                }}
              />
            )}
            {secret !== null && (
              <OneTimeSecret
                name="connection string"
                value={secret}
                advice="It contains the password and is shown only once. If you lose it, rotate the password."
                dismiss={() => setSecret(null)}
              />
            )}
            <Group gap="sm">
              {enabled ? (
                <>
                  <ChangeButton
                    why={
                      why(rotateRawDb) ??
                      (status === 'ready' ? null : `The database is ${status}. Wait a moment.`)
                    }
                    change={rotate}
                    input={{ params }}
                  >
                    Rotate password
                  </ChangeButton>
                  <ChangeButton
                    variant="outline"
                    color="red"
                    why={why(disableRawDb)}
                    change={disable}
                    input={{ params }}
                  >
                    Drop database
                  </ChangeButton>
                </>
              ) : (
                <ChangeButton why={why(enableRawDb) ?? notActive} change={enable} input={{ params }}>
                  Enable database
                </ChangeButton>
              )}
            </Group>
          </>
        )}
      </QueryView>
      <ProblemAlerts changes={[enable, rotate, disable]} />
    </Section>
  );
}
