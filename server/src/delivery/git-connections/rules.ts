import type { deploymentStates } from '@svc/contract/deployments.ts';
import type { GitConnection, GitPush } from '@svc/contract/git-connections.shapes.ts';
import type { GitAccount, GitRepository } from '@svc/contract/git-host.shapes.ts';
import type { z } from 'zod';
import type { AppRow } from '../../apps/record/find-app.ts';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import type { GitHost, Installation, Repository } from '../../drivers/git/git-host.ts';
import type { ConnectionRow, LinkRow, PushRow } from './connection-store.ts';

export type ConnectionRecord = z.output<typeof GitConnection>;

export function accountRecord({ id, login, kind, host, linked_at }: LinkRow): z.output<typeof GitAccount> {
  return { id, login, kind, host, linked_at: linked_at.toISOString() };
}

export function installationRecord({ id, account, repositories }: Installation) {
  return { id, account: account.login, account_kind: account.kind, repositories };
}

export function repositoryRecord(repo: Repository): z.output<typeof GitRepository> {
  return {
    id: repo.id,
    full_name: `${repo.owner}/${repo.name}`,
    private: repo.isPrivate,
    default_branch: repo.defaultBranch,
    can_push: repo.canPush,
    web_url: repo.webUrl,
  };
}

export function connectionRecord(row: ConnectionRow): ConnectionRecord {
  return {
    app_id: row.app_id,
    repo: row.repo,
    repo_id: row.repo_id,
    branch: row.branch,
    private: row.is_private,
    installation_id: row.installation_id,
    web_url: row.web_url,
    clone_url: row.clone_url,
    hook: { state: row.hook_state, detail: row.hook_detail },
    connected_by: row.connected_by,
    connected_at: row.connected_at.toISOString(),
  };
}

export function pushRecord(
  row: PushRow,
  { deployment, summary }: { deployment: PushedDeployment | undefined; summary: string },
): z.output<typeof GitPush> {
  return {
    delivery_id: row.delivery_id,
    branch: row.branch,
    commit: row.commit_sha,
    outcome: row.outcome,
    deployment_id: row.deployment_id,
    deployment: deployment ? { id: deployment.id, seq: deployment.seq, state: deployment.state } : null,
    summary,
    received_at: row.received_at.toISOString(),
  };
}

export function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

export function installationObstacle(facts: {
  owner: string;
  repoInstallation: Installation | null;
  requested: Installation | null | undefined;
  userInstallations: readonly Installation[];
}): 'installation_missing' | 'installation_mismatch' | null {
  const { owner, repoInstallation, requested, userInstallations } = facts;
  if (requested === null) return 'installation_mismatch';
  if (requested && !isSameName(requested.account.login, owner)) return 'installation_mismatch';
  if (!repoInstallation) return 'installation_missing';
  if (requested && requested.id !== repoInstallation.id) return 'installation_mismatch';
  if (!isSameName(repoInstallation.account.login, owner)) return 'installation_mismatch';
  return userInstallations.some(({ id }) => id === repoInstallation.id) ? null : 'installation_mismatch';
}

export function pushOutcome(facts: {
  branch: string;
  connectedBranch: string;
  isDeleted: boolean;
  app: { record: string; runtime: string };
  isDeployed: boolean;
}): PushRow['outcome'] {
  if (facts.branch !== facts.connectedBranch) return 'other_branch';
  if (facts.isDeleted) return 'branch_deleted';
  if (facts.app.record !== 'active' || facts.app.runtime === 'suspended') return 'not_active';
  return facts.isDeployed ? 'repeated' : 'deployed';
}

export interface GitDeps {
  db: Db;
  gitHost: GitHost;
  baseUrl: string;
  now: () => Date;
}

export interface TenantUser {
  tenantId: string;
  userId: string;
}

export const tenantUser = (ctx: { tenant: { id: string }; caller: { userId: string } }): TenantUser => ({
  tenantId: ctx.tenant.id,
  userId: ctx.caller.userId,
});

export interface LinkEvents {
  linked(ctx: MutationCtx, user: TenantUser): Promise<void>;
  denied(db: Db, user: TenantUser, code: { deviceCode: string }): Promise<void>;
}

export interface PushedDeployment {
  id: string;
  seq: number;
  state: (typeof deploymentStates)[number];
  release_id: string | null;
  failure_step: string | null;
  failure_detail: string | null;
  ended_at: Date | null;
  is_log_complete: boolean;
  review: 'pending' | 'approved' | 'rejected' | 'withdrawn' | 'superseded' | 'expired' | null;
}

export interface PreviewSettings {
  ttlSeconds: number;
}

export interface PreviewPush {
  app: AppRow;
  branch: string;
  commit: string;
  repo: string;
  createdBy: string | null;
  settings: PreviewSettings;
}

export interface PushPreviews {
  /** Asks the git host. Null: the branch gets no preview. */
  findSettings(connection: ConnectionRow, branch: string): Promise<PreviewSettings | null>;
  push(
    ctx: MutationCtx,
    push: PreviewPush,
  ): Promise<
    | { outcome: 'preview'; previewId: string; deploymentId: string }
    | { outcome: 'repeated' | 'preview_limit' | 'preview_no_host' }
  >;
  remove(ctx: MutationCtx, parent: AppRef, branch: string): Promise<boolean>;
}

export interface PushDeployments {
  find(db: Db, app: AppRef, id: string): Promise<PushedDeployment | undefined>;
  findNewest(tx: Tx, app: AppRef): Promise<{ id: string; commit_sha: string | null } | undefined>;
  deploy(
    ctx: MutationCtx,
    push: AppRef & { ref: string; repo: string; createdBy: string | null },
  ): Promise<{ id: string }>;
}
