import type { getDeployment } from '@svc/contract/deployments.ts';
import type { Answer } from '@svc/contract/endpoint.ts';

export type Deployment = Answer<NonNullable<typeof getDeployment.shape>>;

export interface Phase {
  title: string;
  state: 'done' | 'active' | 'failed' | 'stopped' | 'waiting';
  /** What of it is being done, or where it failed. */
  says: string | null;
  ms: number | null;
}

export const stepTexts: Record<NonNullable<Deployment['step']>, string> = {
  fetch: 'fetching the source',
  detect: 'finding out how it is built',
  build: 'building',
  start: 'starting it',
  health: 'asking whether it is well',
  switch: 'leading visitors to it',
};

/** Whether something still happens to it by itself. */
export function isUnderWay({ state, ended_at }: Pick<Deployment, 'state' | 'ended_at'>): boolean {
  return ['queued', 'building', 'built', 'releasing'].includes(state) && ended_at === null;
}

/** From when it was begun until it was live, or over, or now. */
export function tookMs(one: Deployment, now: Date): number | null {
  if (one.started_at === null) return null;
  return between(one.started_at, one.live_at ?? one.ended_at ?? now.toISOString());
}

/** The way of a deployment: how far it has come, and how long each part of it took. */
export function phasesOf(one: Deployment, now: Date): Phase[] {
  const reached = reachedBy(one);
  const here = now.toISOString();
  const end = one.ended_at ?? here;
  const times: (number | null)[] = [
    between(one.created_at, one.started_at ?? end),
    one.started_at && between(one.started_at, one.built_at ?? end),
    one.built_at && between(one.built_at, one.live_at ?? end),
    null,
  ].map((ms) => (typeof ms === 'number' ? ms : null));
  return titles.map((title, at) => {
    const state = at < reached ? 'done' : at > reached ? 'waiting' : stateAt(one);
    // What was built before is started again: there was nothing to build.
    const isSkipped = at === 1 && one.source === 'artifact';
    return {
      title,
      state,
      says: isSkipped && state !== 'waiting' ? 'built before' : at === reached ? saidOf(one) : null,
      ms: state === 'waiting' || isSkipped ? null : (times[at] ?? null),
    };
  });
}

const titles = ['Wait', 'Build', 'Release', 'Live'] as const;

/** The number of the part it stands in, or stopped in. */
function reachedBy(one: Deployment): number {
  if (one.state === 'live' || one.state === 'superseded') return 3;
  const step = one.failure?.step ?? one.step;
  if (step === 'start' || step === 'health' || step === 'switch') return 2;
  if (one.state === 'releasing' || one.state === 'built' || one.built_at !== null) return 2;
  return one.state === 'queued' || one.started_at === null ? 0 : 1;
}

function stateAt({ state, ended_at }: Deployment): Phase['state'] {
  if (state === 'live' || state === 'superseded') return 'done';
  if (state === 'failed') return 'failed';
  if (state === 'canceled' || state === 'skipped') return 'stopped';
  return ended_at === null ? 'active' : 'stopped';
}

function saidOf({ state, step, failure, ended_at }: Deployment): string | null {
  if (state === 'superseded') return 'another has taken its place';
  if (state === 'canceled') return 'canceled';
  if (state === 'skipped') return 'a newer one went before it';
  if (state === 'built' && ended_at !== null) return 'it waits for a review';
  if (failure) return `failed while ${stepTexts[failure.step]}`;
  return step && stepTexts[step];
}

function between(from: string, to: string): number {
  return Math.max(0, new Date(to).getTime() - new Date(from).getTime());
}

export function durationText(ms: number | null): string {
  if (ms === null) return '–';
  const seconds = Math.round(ms / 1000);
  if (seconds < 1) return 'under 1 s';
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
