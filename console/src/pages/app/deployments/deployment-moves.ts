import type { AppView } from '../use-app.ts';
import { whyNotInUse } from '../why-not-active.ts';
import type { Deployment } from './deployment-phases.ts';

/** Why one can not be stopped any more; null: it can. */
export function whyNotCancel({ state, ended_at }: Pick<Deployment, 'state' | 'ended_at'>): string | null {
  if (state === 'queued' || state === 'building') return null;
  if (state === 'built' && ended_at === null) return null;
  if (state === 'releasing') return 'It is being put in the place of what was live: too late to stop it.';
  return 'It has ended.';
}

/** Why one can not be gone back to; null: it can. */
export function whyNotRollBack({
  state,
  live_at,
  kept,
}: Pick<Deployment, 'state' | 'live_at' | 'kept'>): string | null {
  if (state === 'live') return 'It is what visitors see now.';
  if (state !== 'superseded' || live_at === null)
    return 'It was never live, so nobody knows whether it works.';
  return kept ? null : 'What it had built is not kept any more; redeploy its commit instead.';
}

/** Why nothing can be deployed now; null: it can. */
export function whyNotDeploy(app: Pick<AppView, 'record' | 'runtime'>): string | null {
  return whyNotInUse(app);
}

/** Why the same source can not be deployed once more from here; null: it can. */
export function whyNotRedeploy({ commit }: Pick<Deployment, 'commit'>, isConnected: boolean): string | null {
  if (commit === null) return 'Its source was uploaded; send it again: svc deploy --from-dir . --execute';
  return isConnected ? null : 'No repository is connected to take its commit from.';
}
