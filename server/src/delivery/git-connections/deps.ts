import type { deploymentStates } from '@svc/contract/deployments.ts';
import type { AppRow } from '../../apps/record/find-app.ts';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import type { GitHost } from '../../drivers/git/git-host.ts';
import type { ConnectionRow } from './connection-store.ts';

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
  /** Of its latest review; null if it needed none. */
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

/** Implemented by previews, which imports this slice. */
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
  /** Returns whether there was one. */
  remove(ctx: MutationCtx, parent: AppRef, branch: string): Promise<boolean>;
}

/** Implemented by deployments, which imports this slice. */
export interface PushDeployments {
  find(db: Db, app: AppRef, id: string): Promise<PushedDeployment | undefined>;
  findNewest(tx: Tx, app: AppRef): Promise<{ id: string; commit_sha: string | null } | undefined>;
  deploy(
    ctx: MutationCtx,
    push: AppRef & { ref: string; repo: string; createdBy: string | null },
  ): Promise<{ id: string }>;
}
