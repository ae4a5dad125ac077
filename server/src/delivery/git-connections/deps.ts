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

export interface PushDeployments {
  findNewest(tx: Tx, app: AppRef): Promise<{ id: string; commit_sha: string | null } | undefined>;
  deploy(
    ctx: MutationCtx,
    push: AppRef & { ref: string; repo: string; createdBy: string | null },
  ): Promise<{ id: string }>;
}
