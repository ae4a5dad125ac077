import { lockApp } from '../apps/app-row.ts';
import { queueDeployment } from '../deployments/queue-deployment.ts';
import type { GitHost } from '../drivers/git-host/git-host.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { daysAfter } from '../plumbing/days-after.ts';
import {
  type AppPlace,
  type ConnectionRow,
  lockConnectionRow,
  saveConnectionRow,
} from './connection-store.ts';
import { findPusher } from './find-pusher.ts';
import type { Push } from './push-payload.ts';
import {
  deletePushRowsBefore,
  insertPushRow,
  isNewestDeployed,
  type PushRow,
  wasReceived,
} from './push-store.ts';
import { pushOutcome } from './rules.ts';

const keptDays = 30;

/**
 * What a push comes to for one app. Null: nothing, because this delivery was told of before, or the app is not
 * connected any more. The deployment builds the branch as it is then: a push that is told of late brings nothing back.
 */
export async function notePush(
  ctx: MutationCtx,
  place: AppPlace,
  { push, gitHost }: { push: Push; gitHost: Pick<GitHost, 'isBuiltIn' | 'webUrl'> },
): Promise<PushRow['outcome'] | null> {
  const { webUrl } = gitHost;
  const app = await lockApp(ctx.db, place.tenantId, place.appId, 'any');
  const connection = await lockConnectionRow(ctx.db, place);
  if (!app || !connection) return null;
  if (connection.host !== webUrl || connection.repo_id !== push.repoId) return null;
  if (await wasReceived(ctx.db, place, push.deliveryId)) return null;
  await keepName(ctx, place, { connection, push, webUrl });
  const outcome = pushOutcome({
    ...push,
    connectedBranch: connection.branch,
    app,
    isDeployed: await isNewestDeployed(ctx.db, place, push.commit),
  });
  const deployment =
    outcome === 'deployed'
      ? await queueDeployment(ctx, {
          ...{ ...place, trigger: 'push', source: 'repository', ref: push.branch, repo: push.repo },
          createdBy: await findPusher(ctx.db, gitHost, { ...place, accountId: push.accountId }),
        })
      : null;
  await deletePushRowsBefore(ctx.db, place, daysAfter(ctx.now, -keptDays));
  await insertPushRow(ctx.db, {
    ...{ delivery_id: push.deliveryId, app_id: place.appId, tenant_id: place.tenantId },
    ...{ branch: push.branch, commit_sha: push.commit, outcome, received_at: ctx.now },
    deployment_id: deployment?.id ?? null,
  });
  return outcome;
}

/** A repository that was renamed or moved is known by its number. */
async function keepName(
  ctx: MutationCtx,
  place: AppPlace,
  { connection, push, webUrl }: { connection: ConnectionRow; push: Push; webUrl: string },
): Promise<void> {
  if (connection.repo === push.repo) return;
  const web_url = `${webUrl}/${push.repo}`;
  await saveConnectionRow(ctx.db, place, { repo: push.repo, web_url, clone_url: `${web_url}.git` });
}
