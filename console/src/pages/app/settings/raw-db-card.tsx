import { Group, Text } from '@mantine/core';
import { disableRawDb, enableRawDb, getRawDb, rotateRawDb } from '@svc/contract/raw-db.ts';
import { useState } from 'react';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { Section } from '../../../parts/section.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { Facts } from '../../admin/facts.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';
import { ShownOnce } from './shown-once.tsx';

const askedEveryMs = 1_000;

/** A PostgreSQL database of the app's own, beside its tables. */
export function RawDbCard() {
  const { app, params, why } = useApp();
  const [secret, setSecret] = useState<string | null>(null);
  const answer = useAnswer(
    getRawDb,
    { params },
    { everyMs: (last) => (last && ['creating', 'dropping'].includes(last.status) ? askedEveryMs : false) },
  );
  const enable = useChange(enableRawDb, {
    title: 'Give the app a database of its own',
    verb: 'Enable',
    done: 'The database is being made.',
    onDone: ({ connection_string: made }) => setSecret(made ?? null),
  });
  const rotate = useChange(rotateRawDb, {
    title: 'Change the password of the database',
    verb: 'Change the password',
    done: 'The old password is good no more.',
    onDone: ({ connection_string: made }) => setSecret(made),
  });
  const disable = useChange(disableRawDb, {
    title: 'Drop the database with everything in it',
    verb: 'Drop the database',
    done: 'The database is dropped.',
    onDone: () => setSecret(null),
  });
  const notActive = whyNotActive(app);
  return (
    <Section
      title="Database of its own"
      lead="A PostgreSQL database for programs that need SQL. Its tables are not those of the Tables tab."
    >
      <AnswerView answer={answer} lines={2}>
        {({ enabled, status, host, port, database, role, connections_max: most }) => (
          <>
            <Group gap="sm">
              <StateBadge
                state={status === 'ready' ? 'active' : status === 'none' ? 'none' : 'pending'}
                label={status === 'none' ? 'none' : status}
              />
              {!enabled && <Text size="sm">The app has none.</Text>}
            </Group>
            {enabled && (
              <Facts
                label="Database of its own"
                facts={[
                  ['Host', <span key="host" className="mono">{`${host}:${port}`}</span>],
                  [
                    'Database',
                    <span key="database" className="mono">
                      {database}
                    </span>,
                  ],
                  [
                    'Role',
                    <span key="role" className="mono">
                      {role}
                    </span>,
                  ],
                  ['Connections', `at most ${most} at once`],
                ]}
              />
            )}
            {secret !== null && <ShownOnce value={secret} dismiss={() => setSecret(null)} />}
            <Group gap="sm">
              {enabled ? (
                <>
                  <MayButton
                    variant="default"
                    why={why(rotateRawDb) ?? (status === 'ready' ? null : `It is ${status}; wait a moment.`)}
                    loading={rotate.isBusy}
                    onClick={() => void rotate.propose({ params })}
                  >
                    Change the password
                  </MayButton>
                  <MayButton
                    variant="outline"
                    color="red"
                    why={why(disableRawDb)}
                    loading={disable.isBusy}
                    onClick={() => void disable.propose({ params })}
                  >
                    Drop the database
                  </MayButton>
                </>
              ) : (
                <MayButton
                  variant="default"
                  why={why(enableRawDb) ?? notActive}
                  loading={enable.isBusy}
                  onClick={() => void enable.propose({ params })}
                >
                  Enable the database
                </MayButton>
              )}
            </Group>
          </>
        )}
      </AnswerView>
      {[enable, rotate, disable].map(
        ({ problem }, at) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: there are always these three.
          problem !== null && <ProblemAlert key={at} error={problem} />,
      )}
    </Section>
  );
}
