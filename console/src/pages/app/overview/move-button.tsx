import { reactivateApp, restoreApp, resumeApp } from '@svc/contract/app-life.ts';
import { useChange } from '../../../change/use-change.ts';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { useApp } from '../use-app.ts';
import type { NextStep } from './next-step.ts';

const moves = {
  resume: { endpoint: resumeApp, verb: 'Resume', done: 'The app is being started.' },
  reactivate: { endpoint: reactivateApp, verb: 'Reactivate', done: 'The app is active again.' },
  restore: { endpoint: restoreApp, verb: 'Restore', done: 'The app is back.' },
} as const;

export function MoveButton({ move }: { move: Exclude<NextStep, 'deploy'> }) {
  const { app, params, why } = useApp();
  const { endpoint, verb, done } = moves[move];
  const change = useChange(endpoint, { title: `${verb} ${app.name}`, verb, done });
  return (
    <>
      <MayButton why={why(endpoint)} loading={change.isBusy} onClick={() => void change.propose({ params })}>
        {verb}
      </MayButton>
      {change.problem !== null && <ProblemAlert error={change.problem} />}
    </>
  );
}
