import { type AppMove, moveApp } from '@svc/contract/app-states.ts';
import type { AppView } from '../use-app.ts';

/** What an app waits for to be of use; null: nothing, it runs. */
export type NextStep = 'deploy' | Extract<AppMove, 'resume' | 'reactivate' | 'restore'>;

export function nextStepOf(app: Pick<AppView, 'record' | 'runtime' | 'deployment_status'>): NextStep | null {
  const leads = (['restore', 'reactivate', 'resume'] as const).find(
    (move) => moveApp(move, app).kind === 'moves',
  );
  if (leads) return leads;
  return app.deployment_status === 'draft' ? 'deploy' : null;
}
