import { findApp } from '../apps/find-app.ts';
import { holdApp } from '../apps/hold-app.ts';
import { sha256 } from '../plumbing/canonical.ts';
import type { TenantCtx, TenantMutationCtx } from '../plumbing/context.ts';
import { fail, invalid } from '../plumbing/problem.ts';
import { connectRepository } from './connect-repository.ts';
import type { GitParts } from './git-parts.ts';
import { type PreparedConnection, prepareConnection } from './prepare-connection.ts';
import { type ConnectionRecord, connectionRecord } from './rules.ts';
import { findStateRow, takeStateRow } from './state-store.ts';

export interface Completion {
  state: string;
  installation_id?: number | undefined;
  repo?: string | undefined;
  branch?: string | undefined;
}

const unknownState = () =>
  fail('not_found', {
    detail: 'There is no connection of yours that was begun with this state, or not any more.',
  });

/** Asks the git host, for the one who began. */
export async function prepareCompletion(
  parts: GitParts,
  ctx: TenantCtx,
  wish: Completion,
): Promise<PreparedConnection> {
  const who = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  const row = await findStateRow(parts.db, who, { hash: sha256(wish.state), now: ctx.now });
  if (!row) throw unknownState();
  const repo = wish.repo ?? row.repo;
  if (repo === null)
    throw invalid('repo', 'is needed: none was said when the connection was begun', 'required');
  const branch = wish.branch ?? row.branch;
  return prepareConnection(parts, who, { repo, branch, installationId: wish.installation_id });
}

export async function completeGitConnection(
  ctx: TenantMutationCtx,
  { state }: Pick<Completion, 'state'>,
  prepared: PreparedConnection,
): Promise<ConnectionRecord> {
  const { tenant, caller } = ctx;
  const who = { tenantId: tenant.id, userId: caller.userId };
  const begun = await takeStateRow(ctx.db, who, { hash: sha256(state), now: ctx.now });
  if (!begun) throw unknownState();
  const app = await findApp(ctx.db, tenant, { ref: begun.app_id, caller });
  if (!app) throw unknownState();
  await holdApp({ ...ctx, app }, { wanted: 'owners' });
  const place = { tenantId: tenant.id, appId: app.id };
  const { row } = await connectRepository(ctx, { ...place, connectedBy: caller.userId, prepared });
  return connectionRecord(row);
}
