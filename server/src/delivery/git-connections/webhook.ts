import { gitCommitPattern, gitRepoPattern } from '@svc/contract/git-names.ts';
import { z } from 'zod';
import { type AppRow, lockApp } from '../../apps/record/find-app.ts';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import { fail } from '../../core/problem.ts';
import { daysAfter } from '../../core/values.ts';
import type { GitHost } from '../../drivers/git/git-host.ts';
import type { RequestHandler } from '../../http/handlers.ts';
import { readBody } from '../../http/read-body.ts';
import { findMember } from '../../people/tenants/members.ts';
import { listAccountUserIds } from '../git-host/host-store.ts';
import {
  type ConnectionRow,
  deletePushRowsBefore,
  findPushRow,
  insertPushRow,
  isPushOfCommit,
  listConnectionRowsOfRepo,
  listLinkedUserIds,
  lockConnectionRow,
  type PushRow,
  updateConnectionRow,
} from './connection-store.ts';
import {
  type GitDeps,
  type PreviewSettings,
  type PushDeployments,
  type PushPreviews,
  pushOutcome,
} from './rules.ts';

export const webhookBytesMax = 5 * 1024 * 1024;

type PushHost = Pick<GitHost, 'isBuiltIn' | 'webUrl'>;

export function createWebhookReceiver(deps: GitDeps & OperatorDeps & PushDeps): RequestHandler {
  const { gitHost, db } = deps;
  return async (request, _url, info) => {
    info.setRoute('git.webhook');
    if (request.method !== 'POST') throw fail('method_not_allowed', { headers: { allow: 'POST' } });
    const bytes = await readBody(request, { bytesMax: webhookBytesMax });
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    if (!(await gitHost.isSigned(text, request.headers.get('x-hub-signature-256'))))
      throw fail('unauthenticated', { detail: 'The signature is missing or wrong.' });

    const deliveryId = request.headers.get('x-github-delivery') ?? '';
    if (!/^[\w-]{1,100}$/.test(deliveryId))
      throw fail('validation_failed', { detail: 'X-GitHub-Delivery is missing.' });
    if (request.headers.get('x-github-event') !== 'push') return respond(200, { noted: 0 });
    const push = parsePush(deliveryId, text);
    if (!push) return respond(200, { noted: 0 });
    let noted = 0;
    let failure: unknown;
    const rows = await listConnectionRowsOfRepo(db, { host: gitHost.webUrl, repoId: push.repoId });
    for (const row of rows) {
      const { tenant_id: tenantId, app_id: appId } = row;
      const change = { name: 'git.push', auditTenantId: tenantId, requestId: info.requestId };
      // A failure for one app must not stop the others: the host repeats the delivery, which the others ignore.
      try {
        const preview = push.isDeleted ? null : await deps.previews.findSettings(row, push.branch);
        const outcome = await runAsOperator(deps, change, (ctx) =>
          recordPush(ctx, { tenantId, appId }, { ...push, preview }, deps),
        );
        if (outcome) noted++;
        info.log.info({ app: appId, delivery: deliveryId, outcome }, 'webhook received');
      } catch (error) {
        info.log.warn({ err: error, app: appId, delivery: deliveryId }, 'webhook failed');
        failure = error;
      }
    }
    if (failure !== undefined) throw failure;
    return respond(noted > 0 ? 202 : 200, { noted });
  };
}

function respond(status: number, body: { noted: number }): Response {
  return Response.json(body, { status, headers: { 'cache-control': 'no-store' } });
}

const retentionDays = 30;

/** The deployment fetches the newest commit of the branch, so a late delivery rolls nothing back. */
export async function recordPush(
  ctx: MutationCtx,
  ref: AppRef,
  push: Push & { preview: PreviewSettings | null },
  deps: PushDeps & { gitHost: PushHost },
): Promise<PushRow['outcome'] | null> {
  const { gitHost, pushDeployments } = deps;
  const { webUrl } = gitHost;
  const app = await lockApp(ctx.db, ref.tenantId, ref.appId, 'any');
  const connection = await lockConnectionRow(ctx.db, ref);
  if (!app || !connection) return null;
  if (connection.host !== webUrl || connection.repo_id !== push.repoId) return null;
  if (await findPushRow(ctx.db, ref, push.deliveryId)) return null;
  await updateRepoName(ctx, connection, push, webUrl);
  let outcome = pushOutcome({
    ...push,
    connectedBranch: connection.branch,
    app,
    isDeployed: await isDeployed(ctx, ref, push.commit, pushDeployments),
  });
  const createdBy = await findPusher(ctx.db, gitHost, { ...ref, accountId: push.accountId });
  let deployed: { id: string | null; previewId: string | null } = { id: null, previewId: null };
  if (outcome === 'deployed') {
    const { id } = await pushDeployments.deploy(ctx, {
      ...ref,
      ref: push.branch,
      repo: push.repo,
      createdBy,
    });
    deployed = { id, previewId: null };
  } else if (outcome === 'other_branch') {
    const preview = await pushToPreview(ctx, app, { ...push, createdBy }, deps);
    outcome = preview.outcome;
    if (preview.outcome === 'preview') deployed = { id: preview.deploymentId, previewId: preview.previewId };
  }
  await deletePushRowsBefore(ctx.db, ref, daysAfter(ctx.now, -retentionDays));
  await insertPushRow(ctx.db, {
    delivery_id: push.deliveryId,
    app_id: ref.appId,
    tenant_id: ref.tenantId,
    branch: push.branch,
    commit_sha: push.commit,
    outcome,
    deployment_id: deployed.id,
    preview_id: deployed.previewId,
    received_at: ctx.now,
  });
  return outcome;
}

interface PushDeps {
  pushDeployments: PushDeployments;
  previews: PushPreviews;
}

async function pushToPreview(
  ctx: MutationCtx,
  app: AppRow,
  push: Push & { preview: PreviewSettings | null; createdBy: string | null },
  { previews }: PushDeps,
): Promise<Awaited<ReturnType<PushPreviews['push']>> | { outcome: Exclude<PushRow['outcome'], 'preview'> }> {
  if (push.isDeleted) {
    const isRemoved = await previews.remove(ctx, { tenantId: app.tenant_id, appId: app.id }, push.branch);
    return { outcome: isRemoved ? 'preview_removed' : 'other_branch' };
  }
  if (push.preview === null) return { outcome: 'other_branch' };
  if (app.record !== 'active' || app.runtime === 'suspended') return { outcome: 'not_active' };
  const { branch, commit, repo, createdBy, preview: settings } = push;
  return previews.push(ctx, { app, branch, commit, repo, createdBy, settings });
}

async function isDeployed(ctx: MutationCtx, app: AppRef, commit: string, pushDeployments: PushDeployments) {
  const newest = await pushDeployments.findNewest(ctx.db, app);
  if (!newest) return false;
  if (newest.commit_sha !== null) return newest.commit_sha === commit;
  return isPushOfCommit(ctx.db, app, { deploymentId: newest.id, commit });
}

async function updateRepoName(
  ctx: MutationCtx,
  { tenant_id: tenantId, app_id: appId, repo }: ConnectionRow,
  push: Push,
  webUrl: string,
): Promise<void> {
  if (repo === push.repo) return;
  const web_url = `${webUrl}/${push.repo}`;
  const set = { repo: push.repo, web_url, clone_url: `${web_url}.git` };
  await updateConnectionRow(ctx.db, { tenantId, appId }, set);
}

const PushPayload = z.object({
  ref: z.string().max(1_000),
  after: z.string().regex(gitCommitPattern),
  deleted: z.boolean().default(false),
  repository: z.object({ id: z.int(), full_name: z.string().regex(gitRepoPattern) }),
  // The sender only names the user who pushed: a push without one is still valid.
  sender: z.object({ id: z.int() }).nullable().catch(null),
});

type Push = NonNullable<ReturnType<typeof parsePush>>;

/** Null for a tag: tags are not deployed. */
function parsePush(deliveryId: string, text: string) {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw fail('malformed_json', {}, { cause: error });
  }
  const parsed = PushPayload.safeParse(json);
  if (!parsed.success) throw fail('validation_failed', { detail: 'The body is not a push event.' });
  const { ref, after, deleted, repository, sender } = parsed.data;
  if (!ref.startsWith('refs/heads/')) return null;
  return {
    deliveryId,
    repoId: repository.id,
    repo: repository.full_name,
    branch: ref.slice('refs/heads/'.length),
    commit: after,
    isDeleted: deleted,
    accountId: sender?.id ?? null,
  };
}

async function findPusher(
  db: Db,
  { isBuiltIn, webUrl: host }: PushHost,
  { tenantId, accountId }: { tenantId: string; accountId: number | null },
): Promise<string | null> {
  if (accountId === null) return null;
  const found = isBuiltIn
    ? await listAccountUserIds(db, accountId)
    : await listLinkedUserIds(db, tenantId, { host, accountId });
  const [only, another] = found;
  if (only === undefined || another !== undefined) return null;
  return (await findMember(db, tenantId, only))?.userId ?? null;
}
