import { deploymentEndStates } from '@svc/contract/deployments.ts';
import type { DeploymentRecord } from '../deployments/deployment-record.ts';

/** Lines are kept in batches: the last of them may come this long after what they tell of. */
const lateMs = 1_000;
/** What was superseded ends the requests that it has, and may write until then. */
const drainedMs = 60_000;

type Standing = Pick<DeploymentRecord, 'state' | 'live_at' | 'ended_at'>;

/** Whether a deployment has said all that it will while it is built and released. One that waits for a review has. */
export function isBuildLogOver({ state, live_at, ended_at }: Standing, now: Date): boolean {
  const isAtEnd = ended_at !== null || (deploymentEndStates as readonly string[]).includes(state);
  const since = ended_at ?? live_at;
  return isAtEnd && (since === null || now.getTime() - Date.parse(since) > lateMs);
}

/** Whether nothing of a deployment runs any more that could write. */
export function isAppLogOver({ state, ended_at }: Standing, now: Date): boolean {
  if (state === 'live' || ended_at === null) return false;
  return now.getTime() - Date.parse(ended_at) > (state === 'superseded' ? drainedMs : lateMs);
}
