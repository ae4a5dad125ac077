import type { getDeployment } from '@svc/contract/deployments.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { whyNotInUse } from '../rules.ts';
import type { AppView } from '../use-app.tsx';

export type Deployment = Answer<NonNullable<typeof getDeployment.shape>>;

export interface Phase {
  title: string;
  state: 'done' | 'active' | 'failed' | 'stopped' | 'waiting';
  detail: string | null;
  ms: number | null;
}

export const stepTexts: Record<NonNullable<Deployment['step']>, string> = {
  fetch: 'fetching the source',
  detect: 'detecting build settings',
  build: 'building',
  release: 'running the release command',
  start: 'starting',
  health: 'checking health',
  switch: 'switching traffic',
};

export function isInProgress({ state, ended_at }: Pick<Deployment, 'state' | 'ended_at'>): boolean {
  return ['queued', 'building', 'built', 'releasing'].includes(state) && ended_at === null;
}

export function deploymentMs(one: Deployment, now: Date): number | null {
  if (one.started_at === null) return null;
  return msBetween(one.started_at, one.live_at ?? one.ended_at ?? now.toISOString());
}

export function deploymentPhases(one: Deployment, now: Date): Phase[] {
  const current = currentPhase(one);
  const here = now.toISOString();
  const end = one.ended_at ?? here;
  const times: (number | null)[] = [
    msBetween(one.created_at, one.started_at ?? end),
    one.started_at && msBetween(one.started_at, one.built_at ?? end),
    one.built_at && msBetween(one.built_at, one.live_at ?? end),
    null,
  ].map((ms) => (typeof ms === 'number' ? ms : null));
  return phaseTitles.map((title, at) => {
    const state = at < current ? 'done' : at > current ? 'waiting' : phaseState(one);
    // A rollback restarts an artifact, so there is nothing to build.
    const isSkipped = at === 1 && one.source === 'artifact';
    return {
      title,
      state,
      detail: isSkipped && state !== 'waiting' ? 'already built' : at === current ? phaseDetail(one) : null,
      ms: state === 'waiting' || isSkipped ? null : (times[at] ?? null),
    };
  });
}

const phaseTitles = ['Queue', 'Build', 'Release', 'Live'] as const;

function currentPhase(one: Deployment): number {
  if (one.state === 'live' || one.state === 'superseded') return 3;
  const step = one.failure?.step ?? one.step;
  if (step === 'release' || step === 'start' || step === 'health' || step === 'switch') return 2;
  if (one.state === 'releasing' || one.state === 'built' || one.built_at !== null) return 2;
  return one.state === 'queued' || one.started_at === null ? 0 : 1;
}

function phaseState({ state, ended_at }: Deployment): Phase['state'] {
  if (state === 'live' || state === 'superseded') return 'done';
  if (state === 'failed') return 'failed';
  if (state === 'canceled' || state === 'skipped') return 'stopped';
  return ended_at === null ? 'active' : 'stopped';
}

export function stateText({ state, queue_position }: Pick<Deployment, 'state' | 'queue_position'>): string {
  return queue_position === null ? state : `${state}, position ${queue_position}`;
}

function phaseDetail({ state, step, failure, ended_at, queue_position, review }: Deployment): string | null {
  if (queue_position !== null) return `position ${queue_position}`;
  if (review?.status === 'rejected') return ['rejected', review.reason].filter(Boolean).join(': ');
  if (state === 'superseded') return 'replaced by a newer one';
  if (state === 'canceled') return 'canceled';
  if (state === 'skipped') return 'skipped for a newer one';
  if (state === 'built' && ended_at !== null)
    return review === null || review.status === 'pending' ? 'waiting for review' : `review ${review.status}`;
  if (failure) return `failed while ${stepTexts[failure.step]}`;
  return step && stepTexts[step];
}

function msBetween(from: string, to: string): number {
  return Math.max(0, new Date(to).getTime() - new Date(from).getTime());
}

export function formatDuration(ms: number | null): string {
  if (ms === null) return '–';
  const seconds = Math.round(ms / 1000);
  if (seconds < 1) return 'under 1 s';
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function whyNotCancel({ state, ended_at }: Pick<Deployment, 'state' | 'ended_at'>): string | null {
  if (state === 'queued' || state === 'building') return null;
  if (state === 'built' && ended_at === null) return null;
  if (state === 'releasing') return 'The release has started and can no longer be cancelled.';
  return 'The deployment has ended.';
}

export function whyNotRollBack({
  state,
  live_at,
  kept,
}: Pick<Deployment, 'state' | 'live_at' | 'kept'>): string | null {
  if (state === 'live') return 'The deployment is live.';
  if (state !== 'superseded' || live_at === null) return 'The deployment was never live.';
  return kept ? null : 'Its build is no longer stored. Redeploy its commit instead.';
}

export function whyNotDeploy(app: Pick<AppView, 'record' | 'runtime'>): string | null {
  return whyNotInUse(app);
}

export function whyNotRestart({ state, method }: Pick<Deployment, 'state' | 'method'>): string | null {
  if (method === 'static') return 'A site has no process to restart.';
  return state === 'live' ? null : 'The deployment is not live.';
}

export function whyNotRedeploy({ commit }: Pick<Deployment, 'commit'>, isConnected: boolean): string | null {
  if (commit === null)
    return 'Its source was uploaded. Upload it again: svc deploy --app <app> --from-dir . --execute';
  return isConnected ? null : 'No repository is connected.';
}

export const shortCommit = (commit: string) => commit.slice(0, 7);

export function sourceText({ source, commit, ref, rollback_of, kind }: Deployment): string {
  if (commit !== null && ref !== null && !commit.startsWith(ref)) return `${ref} @ ${shortCommit(commit)}`;
  if (commit !== null) return shortCommit(commit);
  if (source === 'upload') return 'uploaded source';
  if (kind === 'resume' || kind === 'restart' || rollback_of !== null) return 'earlier build';
  return ref ?? 'the connected branch';
}

export function triggerText({ kind, trigger }: Pick<Deployment, 'kind' | 'trigger'>): string {
  if (kind === 'rollback' || kind === 'restart') return kind;
  if (kind === 'resume' || trigger === 'resume') return 'resume of the app';
  if (trigger === 'push') return 'push';
  if (trigger === 'bootstrap') return 'creation of the app';
  return 'unknown';
}
