import { Group, Text } from '@mantine/core';
import { getInspectionConsent, setInspectionConsent } from '@svc/contract/inspection.ts';
import { useAnswer } from '../../../api/use-answer.ts';
import { useChange } from '../../../change/use-change.ts';
import { AnswerView } from '../../../parts/answer-view.tsx';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { Section } from '../../../parts/section.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { useApp } from '../use-app.ts';
import { InspectionList } from './inspection-list.tsx';

/** Whether admins may look at how the app is built. */
export function ConsentCard() {
  const { app, params, why } = useApp();
  const answer = useAnswer(getInspectionConsent, { params });
  const grant = useChange(setInspectionConsent, {
    title: 'Grant the consent',
    verb: 'Grant',
    done: 'Tenant admins may inspect the app now.',
  });
  const revoke = useChange(setInspectionConsent, {
    title: 'Revoke the consent',
    verb: 'Revoke',
    done: 'Nobody may inspect the app any more.',
  });
  const whyNoGrant =
    app.relation === 'owner' ? null : 'Only its owner grants it: what was read can not be made unread.';
  return (
    <Section
      title="Inspection by admins"
      lead="With the consent of its owner, tenant admins read how the app is built, never its rows. Each reading is written down."
    >
      <AnswerView answer={answer} lines={2}>
        {({ status, granted_at, revoked_at, reads }) => (
          <>
            <Group gap="sm">
              <StateBadge
                state={status === 'granted' ? 'pending' : 'none'}
                label={status === 'never' ? 'no consent' : status}
              />
              <Text size="sm" component="div">
                {status === 'granted' && (
                  <>
                    Granted <TimeText value={granted_at} />.
                  </>
                )}
                {status === 'revoked' && (
                  <>
                    Revoked <TimeText value={revoked_at} />. What was read before stays read.
                  </>
                )}
                {status === 'never' && 'It was never granted.'}
              </Text>
              {status === 'granted' ? (
                <MayButton
                  size="compact-sm"
                  variant="default"
                  why={why(setInspectionConsent)}
                  loading={revoke.isBusy}
                  onClick={() => void revoke.propose({ params, body: { granted: false } })}
                >
                  Revoke the consent
                </MayButton>
              ) : (
                <MayButton
                  size="compact-sm"
                  variant="default"
                  why={whyNoGrant}
                  loading={grant.isBusy}
                  onClick={() => void grant.propose({ params, body: { granted: true } })}
                >
                  Grant the consent
                </MayButton>
              )}
            </Group>
            {[grant, revoke].map(
              ({ problem }, at) =>
                // biome-ignore lint/suspicious/noArrayIndexKey: there are always these two.
                problem !== null && <ProblemAlert key={at} error={problem} />,
            )}
            {reads > 0 && <InspectionList />}
          </>
        )}
      </AnswerView>
    </Section>
  );
}
