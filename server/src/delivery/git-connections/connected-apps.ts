import { type AppRow, findAppRow, listOwnedAppIds, lockApp } from '../../apps/record/find-app.ts';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import { appTag } from '../../core/tags.ts';
import type { ConnectedApps, MissedPush, PushMessage, PushReport, ReceivedPush } from '../git-host/deps.ts';
import { findRepoRowById } from '../git-host/host-store.ts';
import { type LogWaits, readLastLines } from '../logs/log-lines.ts';
import {
  type ConnectionRow,
  deleteConnectionRow,
  findConnectionRow,
  findPushRow,
  hasPushOfCommit,
  listConnectionRowsOfApps,
  listConnectionRowsOfRepo,
  lockConnectionRow,
} from './connection-store.ts';
import { connectRepository } from './connections.ts';
import {
  deploymentText,
  findPushedApp,
  hasEnded,
  logPage,
  nextCommand,
  notDeployedAdvice,
  type PushFacts,
  previewText,
  pushSummary,
  waitCommand,
} from './pushes.ts';
import type { GitDeps, PushDeployments, PushedDeployment, PushPreviews } from './rules.ts';
import { recordPush } from './webhook.ts';

interface ConnectedAppsDeps extends OperatorDeps {
  gitHost: GitDeps['gitHost'];
  baseUrl: string;
  appsDomain: string;
  now: () => Date;
  pushDeployments: PushDeployments;
  previews: PushPreviews;
  waits: Pick<LogWaits, 'wait' | 'isStopping'>;
}

export const listConnectedRepos: ConnectedApps['listRepos'] = async (db, { tenantId, userId, host }) => {
  const appIds = await listOwnedAppIds(db, tenantId, { userId });
  if (appIds.length === 0) return [];
  const rows = await listConnectionRowsOfApps(db, tenantId, { appIds, host });
  return rows.map(({ repo_id, app_id }) => ({ repoId: repo_id, appId: app_id }));
};

/** Passed to the built-in git host, which must not import this slice. */
export function createConnectedApps(deps: ConnectedAppsDeps): ConnectedApps {
  const { gitHost } = deps;
  return {
    listRepos: listConnectedRepos,

    async findOwnedApp(db, { tenantId, userId, slug }) {
      const app = gitHost.isBuiltIn ? await findOwned(db, { tenantId, userId, slug }) : null;
      if (!app) return null;
      const row = await findConnectionRow(db, { tenantId, appId: app.id });
      const connection = row && (await isDeletedRepo(db, gitHost, row)) ? undefined : row;
      const connectedTo = connection ? { repo: connection.repo, cloneUrl: connection.clone_url } : null;
      return { id: app.id, slug: app.slug, isActive: app.record === 'active', connectedTo };
    },

    async connectNewRepo(ctx, { tenantId, appId, userId, branch, repo, installationId }) {
      const webUrl = `${gitHost.webUrl}/${repo.owner}/${repo.name}`;
      const prepared = {
        host: gitHost.webUrl,
        repository: { ...repo, webUrl, cloneUrl: `${webUrl}.git` },
        installation: { id: installationId },
        branch,
        isNew: true,
      };
      await endDeletedConnection(ctx, gitHost, { tenantId, appId });
      await connectRepository(ctx, { tenantId, appId, connectedBy: userId, prepared });
    },

    receivePush: (push) => receivePush(deps, push),
    recordMissed: (push) => recordMissed(deps, push),
  };
}

async function isDeletedRepo(
  db: Db,
  gitHost: Pick<GitDeps['gitHost'], 'isBuiltIn' | 'webUrl'>,
  { host, repo_id: id }: ConnectionRow,
): Promise<boolean> {
  return gitHost.isBuiltIn && host === gitHost.webUrl && (await findRepoRowById(db, id)) === undefined;
}

/** The connection to a deleted repository would refuse the one that the first push creates. */
async function endDeletedConnection(
  ctx: MutationCtx,
  gitHost: GitDeps['gitHost'],
  ref: AppRef,
): Promise<void> {
  const app = await lockApp(ctx.db, ref.tenantId, ref.appId);
  const row = app && (await lockConnectionRow(ctx.db, ref));
  if (!row || !(await isDeletedRepo(ctx.db, gitHost, row))) return;
  await deleteConnectionRow(ctx.db, ref);
  ctx.audit({
    action: 'git.disconnect',
    appId: ref.appId,
    target: { kind: 'git_connection', id: ref.appId, name: app.slug },
    before: { repo: row.repo, branch: row.branch, installation_id: row.installation_id },
    after: null,
  });
}

async function findOwned(
  db: Db,
  { tenantId, userId, slug }: { tenantId: string; userId: string; slug: string },
) {
  const app = await findAppRow(db, tenantId, slug);
  // findAppRow also accepts ids, which are not names of repositories.
  if (!app || app.slug !== slug) return null;
  return (await listOwnedAppIds(db, tenantId, { userId })).includes(app.id) ? app : null;
}

interface Started {
  app: AppRow;
  deployment: PushedDeployment;
}

async function receivePush(deps: ConnectedAppsDeps, push: ReceivedPush): Promise<PushReport> {
  const { db, baseUrl } = deps;
  const { owner, userId } = push;
  const ownIds = await listOwnedAppIds(db, owner.id, { userId });
  const connections = await listConnectionRowsOfRepo(db, { host: deps.gitHost.webUrl, repoId: push.repo.id });
  const lines: string[] = [];
  const started: Started[] = [];
  for (const connection of connections) {
    const { found, others } = await recordBranches(deps, push, connection);
    const [ofOthers] = found.filter(({ push: { outcome } }) => outcome === 'other_branch');
    if (others > 1 && ofOthers && ownIds.includes(ofOthers.app.id))
      lines.push(
        `Not deployed: ${others} other branches; ${ofOthers.app.slug} deploys pushes to ${connection.branch}.`,
      );
    for (const facts of found) {
      if (others > 1 && facts.push.outcome === 'other_branch') continue;
      if (!ownIds.includes(facts.app.preview_of ?? facts.app.id)) continue;
      const { app, deployment } = facts;
      const slugs = { tenant: owner.slug, app: app.slug };
      if (!deployment) {
        lines.push(pushSummary(facts), notDeployedAdvice(facts, slugs) ?? '');
        continue;
      }
      started.push({ app, deployment });
      lines.push(
        app.preview_of === null ? '' : previewText(facts),
        `Deployment #${deployment.seq} of ${app.slug}: ${deploymentText(deployment, { ...deps, ...facts })}`,
        `  id:  ${deployment.id}`,
        `  log: ${logPage(baseUrl, slugs, deployment.id)}`,
      );
    }
  }
  if (connections.length === 0) lines.push(...(await notConnectedLines(deps, push)));
  const follow = started.map(
    ({ app, deployment }) =>
      `Follow it with: ${waitCommand({ tenant: owner.slug, app: app.slug }, deployment.id)}`,
  );
  return {
    text: joinLines(lines),
    follow: joinLines(follow),
    waitForEnd: (signal) => waitForEnd(deps, { started, tenant: owner, userId, signal }),
  };
}

/** Apps that were connected later are deployed on demand only. */
async function recordMissed(deps: ConnectedAppsDeps, { owner, repo, refs, pushedAt }: MissedPush) {
  const { db, gitHost } = deps;
  for (const connection of await listConnectionRowsOfRepo(db, { host: gitHost.webUrl, repoId: repo.id })) {
    const { tenant_id: tenantId, app_id: appId, branch: name, connected_at } = connection;
    const commit = refs[`refs/heads/${name}`];
    if (commit === undefined || connected_at > pushedAt) continue;
    if (await hasPushOfCommit(db, { tenantId, appId }, commit)) continue;
    const branches = [{ name, commit, isDeleted: false, deliveryId: Bun.randomUUIDv7(), isDelivered: false }];
    await recordBranches(
      deps,
      { owner, repo, accountId: 0, branches, requestId: Bun.randomUUIDv7() },
      connection,
    );
  }
}

const joinLines = (lines: readonly string[]) =>
  lines.map((line) => (line === '' ? '' : `${line}\n`)).join('');

/** If a push has more branches, those that concern no app are recorded only if the webhook would record them too. */
const branchesRecordedMax = 20;

/** The connected branch comes last: it is the app's last push, whatever else is pushed with it. */
async function recordBranches(
  deps: ConnectedAppsDeps,
  { owner, repo, accountId, branches, requestId }: Omit<ReceivedPush, 'userId'>,
  connection: ConnectionRow,
): Promise<{ found: (PushFacts & { app: AppRow })[]; others: number }> {
  const { tenant_id: tenantId, app_id: appId, branch: connectedBranch } = connection;
  const ref = { tenantId, appId };
  const found: (PushFacts & { app: AppRow })[] = [];
  const order = branches.toSorted(
    (a, b) => Number(a.name === connectedBranch) - Number(b.name === connectedBranch),
  );
  let others = 0;
  for (const { name, isDelivered, ...branch } of order) {
    const change = { name: 'git.push', auditTenantId: tenantId, requestId };
    const received = {
      ...branch,
      branch: name,
      repoId: repo.id,
      repo: `${owner.slug}/${repo.name}`,
      accountId,
      preview: branch.isDeleted ? null : await deps.previews.findSettings(connection, name),
    };
    const isOther = name !== connectedBranch && received.preview === null && !branch.isDeleted;
    if (isOther && ++others > 1 && !isDelivered && branches.length > branchesRecordedMax) continue;
    await runAsOperator(deps, change, (ctx) => recordPush(ctx, ref, received, deps));
    const push = await findPushRow(deps.db, ref, branch.deliveryId);
    if (!push) continue;
    const pushed = await findPushedApp(deps, ref, push);
    if (pushed) found.push({ urls: deps, connectedBranch, push, ...pushed });
  }
  return { found, others };
}

async function notConnectedLines(deps: ConnectedAppsDeps, { owner, repo, userId }: ReceivedPush) {
  const app = await findOwned(deps.db, { tenantId: owner.id, userId, slug: repo.name.toLowerCase() });
  const command = `svc apps git connect --app ${app?.slug ?? '<app>'} --repo ${owner.slug}/${repo.name}`;
  return [
    'Not deployed: no app is connected to this repository.',
    `To deploy it: ${command} --tenant ${owner.slug} --execute, then svc deploy`,
  ];
}

const pollMs = 500;
const keepAliveMs = 5_000;
const waitMsMax = 20 * 60_000;
const lastLinesMax = 20;
const lineCharsMax = 500;
const failedStates: readonly string[] = ['failed', 'canceled', 'skipped'];

interface Waiting {
  started: readonly Started[];
  tenant: { id: string; slug: string };
  userId: string;
  signal: AbortSignal;
}

async function* waitForEnd(
  { db, now, pushDeployments, waits, ...urls }: ConnectedAppsDeps,
  { started, tenant, userId, signal }: Waiting,
): AsyncGenerator<PushMessage> {
  const until = performance.now() + waitMsMax;
  let sentAt = performance.now();
  let isFailed = false;
  let open = started;
  for (;;) {
    const left: Started[] = [];
    for (const each of open) {
      const { app } = each;
      const ref = { tenantId: tenant.id, appId: app.id };
      const ownId = app.preview_of ?? app.id;
      const deployment = await pushDeployments.find(db, ref, each.deployment.id);
      if (deployment && !hasEnded(deployment, now())) {
        left.push(each);
        continue;
      }
      // The person may have lost the app meanwhile.
      if (!deployment || !(await listOwnedAppIds(db, tenant.id, { userId })).includes(ownId)) continue;
      isFailed ||= failedStates.includes(deployment.state);
      const next = nextCommand(deployment, { tenant: tenant.slug, app: app.slug });
      const scope = { ...ref, source: 'build', deploymentId: deployment.id } as const;
      const log = deployment.state === 'failed' ? await readLastLines(db, scope, lastLinesMax) : [];
      yield joinLines([
        `Deployment #${deployment.seq} of ${app.slug}: ${deploymentText(deployment, { app, urls })}`,
        ...log.map(({ text }) => `  | ${plainText(text)}`),
        next === null ? '' : `Next: ${next}`,
      ]);
    }
    open = left;
    const [first] = open;
    if (!first || signal.aborted || waits.isStopping() || performance.now() > until) break;
    await waits.wait(appTag(first.app.id), pollMs);
    if (performance.now() - sentAt < keepAliveMs) continue;
    sentAt = performance.now();
    yield '';
  }
  if (open.length > 0)
    yield joinLines(
      open.map(({ app, deployment }) => {
        const command = waitCommand({ tenant: tenant.slug, app: app.slug }, deployment.id);
        return `Deployment #${deployment.seq} of ${app.slug} has not ended yet. Follow it with: ${command}`;
      }),
    );
  if (isFailed) yield { failure: 'The commits are stored, but they are not live.\n' };
}

/** Lines are written by apps, and a client prints them to a terminal. */
function plainText(text: string): string {
  return Bun.stripANSI(text)
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .slice(0, lineCharsMax);
}
