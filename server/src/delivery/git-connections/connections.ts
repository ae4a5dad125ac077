import type { GitStatus } from '@svc/contract/git-connections.shapes.ts';
import type { z } from 'zod';
import { lockAppFor } from '../../apps/record/app-access.ts';
import { findAppRow, lockApp } from '../../apps/record/find-app.ts';
import {
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  appRef,
  type MutationCtx,
} from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import type { GitHost, RepoName } from '../../drivers/git/git-host.ts';
import type { RunMode } from '../../http/router.ts';
import {
  type ConnectionRow,
  deleteConnectionRow,
  findConnectionRow,
  findLastPushRow,
  insertConnectionRow,
  lockConnectionRow,
  updateConnectionRow,
} from './connection-store.ts';
import { createHookTopic, hookRemoval, removeHookTopic } from './hooks.ts';
import { findPushedApp, pushSummary } from './pushes.ts';
import { type PreparedConnection, parseRepoName, prepareConnection } from './repositories.ts';
import {
  type ConnectionRecord,
  connectionRecord,
  type GitDeps,
  isSameName,
  type PushDeployments,
  pushRecord,
  tenantUser,
} from './rules.ts';

export interface Connection {
  repo: RepoName;
  repoId: number;
  branch: string;
  installationId: number;
  cloneUrl: string;
  isPrivate: boolean;
  hook: { state: ConnectionRow['hook_state']; id: number | null; detail: string };
}

export async function findConnection(db: Db, app: AppRef): Promise<Connection | null> {
  const row = await findConnectionRow(db, app);
  if (!row) return null;
  return {
    repo: parseRepoName(row.repo),
    repoId: row.repo_id,
    branch: row.branch,
    installationId: row.installation_id,
    cloneUrl: row.clone_url,
    isPrivate: row.is_private,
    hook: { state: row.hook_state, id: row.hook_id, detail: row.hook_detail },
  };
}

export interface GitStatusDeps {
  gitHost: GitHost;
  baseUrl: string;
  appsDomain: string;
  pushDeployments: Pick<PushDeployments, 'find'>;
}

export async function getGitStatus(
  ctx: AppCtx,
  { gitHost, pushDeployments, ...urls }: GitStatusDeps,
): Promise<z.output<typeof GitStatus>> {
  const ref = appRef(ctx);
  const app = orNotFound(await findAppRow(ctx.db, ref.tenantId, ref.appId));
  const row = await findConnectionRow(ctx.db, ref);
  const push = await findLastPushRow(ctx.db, ref);
  const pushed = await findPushedApp({ db: ctx.db, pushDeployments }, ref, push);
  const deployment = pushed?.deployment;
  const facts = { urls, app: pushed?.app ?? app, connectedBranch: row?.branch ?? null, deployment };
  const canCreate = gitHost.isBuiltIn && app.record === 'active';
  const ownUrl = canCreate ? `${gitHost.webUrl}/${ctx.tenant.slug}/${app.slug}.git` : null;
  return {
    connected: row !== undefined,
    push_url: row?.clone_url ?? ownUrl,
    connection: row ? connectionRecord(row) : null,
    last_push: push ? pushRecord(push, { deployment, summary: pushSummary({ ...facts, push }) }) : null,
  };
}

export async function connectRepository(
  ctx: MutationCtx,
  { tenantId, appId, connectedBy, prepared }: AppRef & { connectedBy: string; prepared: PreparedConnection },
): Promise<{ row: ConnectionRow; isChanged: boolean }> {
  const ref = { tenantId, appId };
  const app = orNotFound(await lockApp(ctx.db, tenantId, appId));
  if (app.record !== 'active') throw archivedError();
  const { host, repository, installation, branch } = prepared;
  const repo = `${repository.owner}/${repository.name}`;
  const present = await lockConnectionRow(ctx.db, ref);
  if (present && (present.host !== host || present.repo_id !== repository.id))
    throw alreadyConnectedError(present.repo);
  if (present && present.branch !== branch)
    throw fail('already_connected', {
      detail: `The app is already connected to branch ${present.branch} of ${present.repo}.`,
    });

  const target = { kind: 'git_connection', id: appId, name: app.slug };
  const effect = { tenant_id: tenantId, app_id: appId };
  if (present) {
    const isRetry = present.hook_state === 'failed';
    const set = isRetry ? ({ hook_state: 'waiting', hook_detail: '' } as const) : {};
    const row = { ...present, ...set };
    ctx.audit({
      action: 'git.connect',
      appId,
      target,
      before: { hook_state: present.hook_state },
      after: { hook_state: row.hook_state },
    });
    if (isRetry) {
      await updateConnectionRow(ctx.db, ref, set);
      ctx.enqueue(createHookTopic, effect);
    }
    return { row, isChanged: isRetry };
  }

  const row: ConnectionRow = {
    app_id: appId,
    tenant_id: tenantId,
    host,
    repo_id: repository.id,
    repo,
    branch,
    is_private: repository.isPrivate,
    installation_id: installation.id,
    web_url: repository.webUrl,
    clone_url: repository.cloneUrl,
    hook_state: 'waiting',
    hook_id: null,
    hook_detail: '',
    connected_by: connectedBy,
    connected_at: ctx.now,
  };
  await insertConnectionRow(ctx.db, row);
  ctx.audit({
    action: 'git.connect',
    appId,
    target,
    before: null,
    after: {
      repo,
      branch,
      private: row.is_private,
      installation_id: row.installation_id,
      ...(prepared.isNew && { new_repository: true }),
    },
  });
  ctx.enqueue(createHookTopic, effect);
  return { row, isChanged: true };
}

interface ConnectRequest {
  repo?: string | undefined;
  branch: string;
  installation_id?: number | undefined;
  create: boolean;
  mode: RunMode;
}

/** Refuses what the connection itself would refuse, before a repository is created for it. */
export async function prepareConnect(
  deps: GitDeps,
  ctx: AppCtx,
  { repo: named, branch, installation_id: installationId, create, mode }: ConnectRequest,
): Promise<PreparedConnection> {
  const ownName = create && deps.gitHost.isBuiltIn ? `${ctx.tenant.slug}/${ctx.app.slug}` : undefined;
  const repo = named ?? ownName;
  if (repo === undefined)
    throw fail('validation_failed', {
      errors: [{ field: 'repo', code: 'required', detail: 'Name the repository.' }],
    });
  if (create) {
    if (ctx.app.record !== 'active') throw archivedError();
    const present = await findConnectionRow(ctx.db, appRef(ctx));
    if (present && !isSameName(present.repo, repo)) throw alreadyConnectedError(present.repo);
  }
  const creation = mode === 'preview' ? ('preview' as const) : ('create' as const);
  const request = { repo, branch, installationId, create: create ? creation : undefined };
  return prepareConnection(deps, tenantUser(ctx), request);
}

const alreadyConnectedError = (repo: string) =>
  fail('already_connected', { detail: `The app is already connected to ${repo}.` });

export async function connectGit(
  ctx: AppMutationCtx,
  prepared: PreparedConnection,
): Promise<ConnectionRecord & { changed?: false }> {
  await lockAppFor(ctx, { required: 'owners' });
  const { row, isChanged } = await connectRepository(ctx, {
    ...appRef(ctx),
    connectedBy: ctx.caller.userId,
    prepared,
  });
  return isChanged ? connectionRecord(row) : { ...connectionRecord(row), changed: false };
}

export async function updateGit(
  ctx: AppMutationCtx,
  { branch }: { branch: string },
): Promise<ConnectionRecord & { changed?: false }> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  if (app.record !== 'active') throw archivedError();
  const row = await lockConnectionRow(ctx.db, appRef(ctx));
  if (!row) throw fail('not_connected');
  ctx.audit({
    action: 'git.update',
    appId: app.id,
    target: { kind: 'git_connection', id: app.id, name: app.slug },
    before: { branch: row.branch },
    after: { branch },
  });
  if (row.branch === branch) return { ...connectionRecord(row), changed: false };
  await updateConnectionRow(ctx.db, appRef(ctx), { branch });
  return connectionRecord({ ...row, branch });
}

export async function disconnectGit(
  ctx: AppMutationCtx,
): Promise<{ connected: false; repo: string | null; changed?: false }> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  const target = { kind: 'git_connection', id: app.id, name: app.slug };
  const row = await lockConnectionRow(ctx.db, appRef(ctx));
  if (!row) {
    ctx.audit({ action: 'git.disconnect', appId: app.id, target, before: {}, after: {} });
    return { connected: false, repo: null, changed: false };
  }
  await deleteConnectionRow(ctx.db, appRef(ctx));
  ctx.audit({
    action: 'git.disconnect',
    appId: app.id,
    target,
    before: { repo: row.repo, branch: row.branch, installation_id: row.installation_id },
    after: null,
  });
  ctx.enqueue(removeHookTopic, hookRemoval(row));
  return { connected: false, repo: row.repo };
}

/** The row is deleted with the app's row; only the hook at the git host has to be removed. */
export async function purgeConnection(ctx: MutationCtx, app: AppRef): Promise<{ git_connections: number }> {
  const row = await findConnectionRow(ctx.db, app);
  if (row) ctx.enqueue(removeHookTopic, hookRemoval(row));
  return { git_connections: row ? 1 : 0 };
}

export const archivedError = () =>
  fail('app_not_active', {
    detail: 'The app is archived: its repository can be disconnected, but not connected or changed.',
  });
