import type { deploymentStates } from '@svc/contract/deployments.ts';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import type { GitHost } from '../../drivers/git/git-host.ts';

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
