import { artifactsKeptMax, deploymentLeaseSeconds } from '@svc/contract/deployments.ts';
import type { DeploymentRow } from './store.ts';

/** What asking one to stop does to it. Where it is being released, old and new are exchanged already. */
export function cancelOf({
  state,
  ended_at,
  cancel_asked,
}: Pick<DeploymentRow, 'state' | 'ended_at' | 'cancel_asked'>): 'ends' | 'asked' | 'same' | 'refused' {
  if (state === 'canceled') return 'same';
  if (state === 'queued') return 'ends';
  if (state === 'building') return cancel_asked ? 'same' : 'asked';
  // Built and not yet begun to be released; one that has ended waits for its review.
  if (state === 'built' && ended_at === null) return cancel_asked ? 'same' : 'asked';
  return 'refused';
}

/** Why an earlier one can not be gone back to; null: it can. */
export function rollbackObstacle(
  row: Pick<DeploymentRow, 'state' | 'live_at' | 'is_kept'>,
): 'not_rollback_target' | 'artifact_expired' | null {
  // Only what visitors have seen is known to work.
  if (row.state !== 'superseded' || row.live_at === null) return 'not_rollback_target';
  return row.is_kept ? null : 'artifact_expired';
}

/** What was built comes too late: something newer answers by now. Going back is meant to be older. */
export function isOvertaken(
  { seq, kind }: Pick<DeploymentRow, 'seq' | 'kind'>,
  live: Pick<DeploymentRow, 'seq'> | undefined,
): boolean {
  return kind !== 'rollback' && live !== undefined && seq < live.seq;
}

type Kept = Pick<DeploymentRow, 'id' | 'seq' | 'state' | 'is_kept' | 'artifact' | 'ended_at'>;

/** Of an app's deployments: those whose artefact is not kept any longer. What is live, or not at its end, is. */
export function expiring<R extends Kept>(rows: readonly R[]): R[] {
  return rows
    .filter(({ state, is_kept, ended_at }) => is_kept && state !== 'live' && ended_at !== null)
    .sort((one, other) => other.seq - one.seq)
    .slice(artifactsKeptMax);
}

/** An artefact may be that of several: of one that was gone back to, and of the one it was built for. */
export function isUsedBy(artifact: DeploymentRow['artifact'], rows: readonly Kept[]): boolean {
  return rows.some((row) => row.is_kept && Bun.deepEquals(row.artifact, artifact));
}

/** Lives of a deployment: a copy of the server that dies takes one. */
export const attemptsMax = 3;
export const leaseMs = deploymentLeaseSeconds * 1_000;
export const renewEveryMs = leaseMs / 3;
/** What an instance that gets no new requests is given to end those it has. */
export const drainMsMax = 30_000;
/** Copies of the server hear within this time that an address is not to be used any more. */
export const drainMsMin = 1_500;
