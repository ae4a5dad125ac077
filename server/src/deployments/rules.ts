import {
  artifactsKeptMax,
  deploymentLeaseSeconds,
  healthTimeoutSecondsDefault,
} from '@svc/contract/deployments.ts';
import { healthTimeoutMinutesMax } from '@svc/contract/manifest.ts';
import type { AppRow } from '../apps/app-row.ts';
import { canonicalJson } from '../plumbing/canonical.ts';
import { fail } from '../plumbing/problem.ts';
import type { DeploymentRow } from './store.ts';

/** Nothing is deployed to an app that is archived, or suspended unless that is what ends it. Asked before anything else. */
export function refuseStopped(
  { record, runtime }: Pick<AppRow, 'record' | 'runtime'>,
  kind: DeploymentRow['kind'] = 'deploy',
): void {
  if (record !== 'active')
    throw fail('app_not_active', { detail: 'The app is archived; reactivate it first.' });
  if (runtime === 'suspended' && kind !== 'resume') throw fail('app_suspended');
}

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

type Kept = Pick<
  DeploymentRow,
  'id' | 'seq' | 'state' | 'is_kept' | 'artifact' | 'release_id' | 'ended_at' | 'live_at'
>;

/**
 * Of an app's deployments: those whose artefact is not kept any longer. What is live, or not at its end, is; so are the
 * newest other artefacts that were live or wait for a review. Going back to one again and again takes no further place.
 */
export function expiring<R extends Kept>(rows: readonly R[]): R[] {
  const kept = rows.filter(({ is_kept }) => is_kept);
  const isHeld = ({ state, ended_at }: Kept) => state === 'live' || ended_at === null;
  const held = new Set(kept.filter(isHeld).map(builtThing));
  const others = kept.filter((row) => !isHeld(row)).sort((one, other) => other.seq - one.seq);
  const isWanted = ({ state, live_at }: Kept) => live_at !== null || state === 'built';
  const newest = [...new Set(others.filter(isWanted).map(builtThing))].filter((thing) => !held.has(thing));
  const staying = new Set([...held, ...newest.slice(0, artifactsKeptMax)]);
  return others.filter((row) => !isWanted(row) || !staying.has(builtThing(row)));
}

/** Of a site that is its release: files have no other artefact. */
function builtThing({ artifact, release_id }: Kept): string {
  return canonicalJson({ artifact, release_id });
}

/** An artefact may be that of several: of one that was gone back to, and of the one it was built for. */
export function isUsedBy(artifact: DeploymentRow['artifact'], rows: readonly Kept[]): boolean {
  return rows.some((row) => row.is_kept && Bun.deepEquals(row.artifact, artifact));
}

/** How the app is asked whether it is well; never for longer than is allowed, whatever was written down once. */
export function healthOf({ start_with }: Pick<DeploymentRow, 'start_with'>): {
  path: string | null;
  timeoutMs: number;
} {
  const { path, timeoutMs } = start_with?.health ?? {
    path: null,
    timeoutMs: healthTimeoutSecondsDefault * 1_000,
  };
  return { path, timeoutMs: Math.min(timeoutMs, healthTimeoutMinutesMax * 60_000) };
}

/** For a whole release: to start, to become healthy, to be put in the place of what is live. */
export function releaseMsMax(row: Pick<DeploymentRow, 'start_with'>): number {
  return Math.min(healthOf(row).timeoutMs + releaseMs.beside, releaseMs.max);
}
const releaseMs = { beside: 2 * 60_000, max: 15 * 60_000 };

/** Those who have half of the places at work already, where there is more than one: the rest is for others. */
export function tenantsWithMost(claims: readonly { tenantId: string }[], places: number): string[] {
  if (places < 2) return [];
  const counts = Map.groupBy(claims, ({ tenantId }) => tenantId);
  return [...counts].filter(([, own]) => own.length >= places / 2).map(([tenantId]) => tenantId);
}

/** Lives of a deployment: a copy of the server that dies takes one. */
export const attemptsMax = 3;
export const leaseMs = deploymentLeaseSeconds * 1_000;
export const renewEveryMs = leaseMs / 3;
/** What an instance that gets no new requests is given to end those it has. */
export const drainMsMax = 30_000;
/** Copies of the server hear within this time that an address is not to be used any more. */
export const drainMsMin = 1_500;
