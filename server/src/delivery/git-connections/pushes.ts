import { consolePaths } from '@svc/contract/console-paths.ts';
import { deploymentEndStates } from '@svc/contract/deployments.ts';
import { previewsMax } from '@svc/contract/previews.ts';
import { type AppRow, findAppRow } from '../../apps/record/find-app.ts';
import { appUrl } from '../../apps/record/rules.ts';
import type { AppRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { PushRow } from './connection-store.ts';
import type { PushDeployments, PushedDeployment } from './rules.ts';

type PushedApp = Pick<AppRow, 'slug' | 'subdomain' | 'record' | 'runtime'>;

export interface PushFacts {
  urls: { baseUrl: string; appsDomain: string };
  app: PushedApp;
  connectedBranch: string | null;
  push: Pick<PushRow, 'branch' | 'outcome'>;
  deployment: PushedDeployment | undefined;
}

/** The state of a push now, in the words of `git push`, `svc apps git status` and the console. */
export function pushSummary(facts: PushFacts): string {
  const { push, app, deployment } = facts;
  if (deployment) return `Deployment #${deployment.seq}: ${deploymentText(deployment, facts)}`;
  switch (push.outcome) {
    case 'deployed':
      return 'The deployment no longer exists.';
    case 'other_branch':
      return facts.connectedBranch === null || facts.connectedBranch === push.branch
        ? `Not deployed: ${push.branch} was not the connected branch.`
        : `Not deployed: ${app.slug} deploys pushes to ${facts.connectedBranch}, not to ${push.branch}.`;
    case 'repeated':
      return 'Not deployed again: this commit is deployed, or is being deployed.';
    case 'preview':
      return 'The preview no longer exists.';
    case 'preview_removed':
      return `The preview of ${push.branch} is removed.`;
    case 'preview_limit':
      return `Not deployed: ${app.slug} has ${previewsMax} previews, which is the maximum.`;
    case 'preview_no_host':
      return `Not deployed: ${app.slug} has no subdomain, or one that is too long for the host of a preview.`;
    case 'branch_deleted':
      return `Not deployed: ${push.branch} was deleted.`;
    case 'not_active': {
      const state = inactiveState(app);
      return `Not deployed: ${app.slug} ${state === null ? 'was suspended or archived' : `is ${state}`}.`;
    }
  }
}

export const previewText = ({ push, app, urls }: PushFacts) =>
  `Preview of ${push.branch}: ${app.subdomain === null ? '' : appUrl(urls, app.subdomain)}`;

export async function findPushedApp(
  { db, pushDeployments }: { db: Db; pushDeployments: Pick<PushDeployments, 'find'> },
  ref: AppRef,
  push: PushRow | undefined,
) {
  const pushed = { ...ref, appId: push?.preview_id ?? ref.appId };
  const app = await findAppRow(db, pushed.tenantId, pushed.appId);
  if (!app) return null;
  const id = push?.deployment_id ?? null;
  return { app, deployment: id === null ? undefined : await pushDeployments.find(db, pushed, id) };
}

function inactiveState({ record, runtime }: PushedApp): string | null {
  if (record !== 'active') return record;
  return runtime === 'suspended' ? runtime : null;
}

export function deploymentText(
  { state, ended_at, failure_step, failure_detail, review }: PushedDeployment,
  { app, urls }: Pick<PushFacts, 'app' | 'urls'>,
): string {
  switch (state) {
    case 'queued':
      return 'building (queued)';
    case 'building':
      return 'building';
    case 'releasing':
      return 'built, going live';
    case 'built':
      if (ended_at === null) return 'building';
      return review === null || review === 'pending'
        ? 'waiting for review: visitors see it when an admin has approved it'
        : `not live: its review is ${review}`;
    case 'live':
      return app.subdomain === null ? 'live' : `live at ${appUrl(urls, app.subdomain)}`;
    case 'superseded':
      return 'was live, and has been superseded by a newer one';
    case 'failed':
      return `failed at ${failure_step ?? 'its start'}: ${failure_detail ?? 'unknown reason'}`;
    case 'canceled':
      return review === 'rejected' ? 'not live: its review is rejected' : 'canceled';
    case 'skipped':
      return 'skipped because of a newer one';
  }
}

const logWaitMs = 5_000;

export function hasEnded({ state, ended_at, is_log_complete }: PushedDeployment, now: Date): boolean {
  if (state === 'failed') return is_log_complete || now.getTime() - (ended_at?.getTime() ?? 0) > logWaitMs;
  return ended_at !== null || (deploymentEndStates as readonly string[]).includes(state);
}

interface AppSlugs {
  tenant: string;
  app: string;
}

export const logPage = (baseUrl: string, { tenant, app }: AppSlugs, id: string) =>
  `${baseUrl}${consolePaths.deployment(tenant, app, id)}`;

export const waitCommand = ({ tenant, app }: AppSlugs, id: string) =>
  `svc deployments wait ${id} --app ${app} --tenant ${tenant}`;

export function nextCommand({ id, state }: PushedDeployment, { tenant, app }: AppSlugs) {
  const of = `--app ${app} --tenant ${tenant}`;
  if (state === 'failed') return `svc deployments logs ${id} ${of}`;
  return state === 'built' ? `svc review history ${of}` : null;
}

export function notDeployedAdvice({ push, app }: PushFacts, { tenant }: AppSlugs): string | null {
  const of = `--app ${app.slug} --tenant ${tenant}`;
  if (push.outcome === 'other_branch')
    return `To deploy it instead: svc apps git update ${of} --branch ${push.branch} --execute`;
  if (push.outcome === 'preview_limit')
    return `Delete one: svc previews list ${of}, then svc previews delete <preview> ${of} --execute`;
  if (push.outcome === 'not_active' && app.record === 'active')
    return `Next: svc apps resume ${app.slug} --tenant ${tenant} --execute, then svc deploy ${of} --execute`;
  return null;
}
