import type { Answer } from '@svc/contract/endpoint.ts';
import { type getRun, type listSchedules, runEndStates } from '@svc/contract/runs.ts';

export type Run = Answer<NonNullable<typeof getRun.shape>>;
export type Schedule = Answer<NonNullable<typeof listSchedules.shape>>['items'][number];

export function isOpen({ state }: Pick<Run, 'state'>): boolean {
  return !(runEndStates as readonly string[]).includes(state);
}

export function whyNotCancel(run: Pick<Run, 'state'>): string | null {
  return isOpen(run) ? null : 'It has ended.';
}

export function runText({ command, path }: Pick<Run, 'command' | 'path'>): string {
  return command ?? `POST ${path}`;
}

/** Null for a run that has not started. */
export function runMs({ started_at, ended_at }: Run, now: Date): number | null {
  if (started_at === null) return null;
  return Date.parse(ended_at ?? now.toISOString()) - Date.parse(started_at);
}
