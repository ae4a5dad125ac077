import { Group, Paper, Stack, Title } from '@mantine/core';
import { bootstrapEndStates, cancelBootstrap, getBootstrap } from '@svc/contract/bootstrap.ts';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { useChange } from '../../change/use-change.ts';
import { AnswerView } from '../../parts/answer-view.tsx';
import { MayButton } from '../../parts/may-button.tsx';
import { ProblemAlert } from '../../parts/problem-alert.tsx';
import { StateBadge } from '../../parts/state-badge.tsx';
import { ApprovalCard } from './approval-card.tsx';
import { RunEnd } from './run-end.tsx';
import { RunSteps } from './run-steps.tsx';
import type { GitCode } from './started-run.ts';

const askedEveryMs = 1_500;
const isOver = (state: string) => bootstrapEndStates.some((end) => end === state);

/** How far the making of an app has come, until it is done or has failed. */
export function RunProgress({
  id,
  code,
  setCode,
}: {
  id: string;
  code: GitCode | null;
  setCode: (code: GitCode | null) => void;
}) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id, run: id };
  const answer = useAnswer(
    getBootstrap,
    { params },
    { everyMs: (last) => (last && isOver(last.state) ? false : askedEveryMs) },
  );
  const cancel = useChange(cancelBootstrap, {
    title: 'Stop the making of the app',
    verb: 'Stop it',
    done: 'It stops after the step that is under way.',
  });
  return (
    <AnswerView answer={answer} lines={6}>
      {(run) => (
        <Stack>
          {run.state === 'awaiting_approval' && <ApprovalCard code={code} setCode={setCode} />}
          {isOver(run.state) && <RunEnd run={run} />}
          <Paper withBorder p={{ base: 'md', sm: 'lg' }}>
            <Group justify="space-between" mb="md">
              <Title order={2} size="h4">
                {run.kind === 'fork' ? 'Fork' : 'Making'} {run.slug}
              </Title>
              <StateBadge
                state={run.state === 'running' ? 'building' : run.state}
                label={stateTexts[run.state]}
              />
            </Group>
            <RunSteps steps={run.steps} />
            {!isOver(run.state) && (
              <Group mt="md">
                <MayButton
                  why={null}
                  variant="default"
                  loading={cancel.isBusy}
                  onClick={() => void cancel.propose({ params })}
                >
                  Stop it
                </MayButton>
              </Group>
            )}
            {cancel.problem !== null && <ProblemAlert error={cancel.problem} />}
          </Paper>
        </Stack>
      )}
    </AnswerView>
  );
}

const stateTexts = {
  awaiting_approval: 'waits for you',
  running: 'under way',
  done: 'done',
  failed: 'failed',
  canceled: 'stopped',
} as const;
