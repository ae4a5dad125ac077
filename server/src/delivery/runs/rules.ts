import { deploymentLeaseSeconds } from '@svc/contract/deployments.ts';
import type { Run } from '@svc/contract/runs.shapes.ts';
import type { z } from 'zod';
import type { RunRow } from './store.ts';

export const leaseMs = deploymentLeaseSeconds * 1_000;
export const renewEveryMs = leaseMs / 3;

/** After a downtime, the newest time that has passed still runs if it is not older than this. */
export const graceMs = 5 * 60_000;
/** Times that a downtime has missed, of each schedule: the newest are recorded. */
export const missedMax = 100;

export const runsTag = 'work:runs';

export type RunRecord = z.output<typeof Run>;

export function runRecord(row: RunRow): RunRecord {
  return {
    id: row.id,
    app_id: row.app_id,
    deployment_id: row.deployment_id,
    schedule: row.schedule,
    due_at: row.due_at?.toISOString() ?? null,
    command: row.command,
    path: row.path,
    timeout_seconds: row.timeout_seconds,
    state: row.state,
    exit_code: row.exit_code,
    failure: row.failure,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    ended_at: row.ended_at?.toISOString() ?? null,
  };
}

export function cancelOutcome({
  state,
  cancel_asked,
}: Pick<RunRow, 'state' | 'cancel_asked'>): 'ends' | 'requested' | 'same' | 'refused' {
  if (state === 'canceled') return 'same';
  if (state === 'queued') return 'ends';
  if (state === 'running') return cancel_asked ? 'same' : 'requested';
  return 'refused';
}

/** What becomes of a time of a schedule that has come, the newest one that has passed. */
export function dueOutcome(
  due: Date,
  { now, hasOpenRun }: { now: Date; hasOpenRun: boolean },
): { state: 'queued' | 'missed' | 'skipped'; failure: string | null } {
  if (isTooLate(due, now)) return { state: 'missed', failure: missedText };
  if (hasOpenRun) return { state: 'skipped', failure: 'The run before it had not ended.' };
  return { state: 'queued', failure: null };
}

export const isTooLate = (due: Date, now: Date) => now.getTime() - due.getTime() > graceMs;

export const missedText = 'No server could start it in time.';
export const lostText = 'The server that ran it has stopped; it is not run again.';

/** For plans, audit entries and notifications. */
export function runName({ schedule, command, path }: Pick<RunRow, 'schedule' | 'command' | 'path'>): string {
  return (schedule ?? command ?? path ?? '').slice(0, 100).toWellFormed();
}
