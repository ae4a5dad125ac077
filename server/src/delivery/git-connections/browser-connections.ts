import { randomBytes } from 'node:crypto';
import { connectStateMinutes } from '@svc/contract/git-connections.ts';
import { lockAppFor } from '../../apps/record/app-access.ts';
import { findApp } from '../../apps/record/find-app.ts';
import { type AppMutationCtx, appRef, type TenantCtx, type TenantMutationCtx } from '../../core/context.ts';
import { html } from '../../core/html.ts';
import { fail, validationError } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { RequestHandler } from '../../http/handlers.ts';
import { pageResponse } from '../../identity/provider/pages/layout.ts';
import {
  consumeStateRow,
  deleteOldStateRows,
  findConnectionRow,
  findStateRow,
  insertStateRow,
} from './connection-store.ts';
import { archivedError, connectRepository } from './connections.ts';
import { type PreparedConnection, prepareConnection } from './repositories.ts';
import { type ConnectionRecord, connectionRecord, type GitDeps, tenantUser } from './rules.ts';

export async function beginGitConnection(
  ctx: AppMutationCtx,
  { repo, branch }: { repo?: string | undefined; branch: string },
  { gitHost }: Pick<GitDeps, 'gitHost'>,
): Promise<{ state: string; install_url: string; expires_at: string }> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  if (app.record !== 'active') throw archivedError();
  const user = tenantUser(ctx);
  const present = await findConnectionRow(ctx.db, appRef(ctx));
  if (present)
    throw fail('already_connected', { detail: `The app is already connected to ${present.repo}.` });
  const state = randomBytes(32).toString('base64url');
  const expiresAt = new Date(ctx.now.getTime() + connectStateMinutes * 60_000);
  await deleteOldStateRows(ctx.db, user, ctx.now);
  await insertStateRow(ctx.db, {
    state_hash: sha256(state),
    tenant_id: user.tenantId,
    app_id: app.id,
    user_id: user.userId,
    repo: repo ?? null,
    branch,
    expires_at: expiresAt,
  });
  ctx.audit({
    action: 'git.begin',
    appId: app.id,
    target: { kind: 'git_connection', id: app.id, name: app.slug },
    before: null,
    after: { repo: repo ?? null, branch, begun_at: ctx.now },
  });
  return { state, install_url: gitHost.installUrl(state), expires_at: expiresAt.toISOString() };
}

interface CompletionInput {
  state: string;
  installation_id?: number | undefined;
  repo?: string | undefined;
  branch?: string | undefined;
}

const unknownStateError = () =>
  fail('not_found', {
    detail: 'You have no open connection request with this state. It may have expired: start again.',
  });

export async function prepareCompletion(parts: GitDeps, ctx: TenantCtx, input: CompletionInput) {
  const user = tenantUser(ctx);
  const row = await findStateRow(parts.db, user, { hash: sha256(input.state), now: ctx.now });
  if (!row) throw unknownStateError();
  const repo = input.repo ?? row.repo;
  if (repo === null)
    throw validationError('repo', 'is required: the connection was started without one', 'required');
  const branch = input.branch ?? row.branch;
  return prepareConnection(parts, user, { repo, branch, installationId: input.installation_id });
}

export async function completeGitConnection(
  ctx: TenantMutationCtx,
  { state }: Pick<CompletionInput, 'state'>,
  prepared: PreparedConnection,
): Promise<ConnectionRecord> {
  const { tenant, caller } = ctx;
  const state_row = await consumeStateRow(ctx.db, tenantUser(ctx), { hash: sha256(state), now: ctx.now });
  if (!state_row) throw unknownStateError();
  const app = await findApp(ctx.db, tenant, { ref: state_row.app_id, caller });
  if (!app) throw unknownStateError();
  await lockAppFor({ ...ctx, app }, { required: 'owners' });
  const { row } = await connectRepository(ctx, {
    tenantId: tenant.id,
    appId: app.id,
    connectedBy: caller.userId,
    prepared,
  });
  return connectionRecord(row);
}

/** Changes nothing, so that a forged link has no effect: the user completes the connection in the terminal. */
export const setupPage: RequestHandler = async (request, url, info) => {
  info.setRoute('git.setup');
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
  const state = url.searchParams.get('state') ?? '';
  const installation = url.searchParams.get('installation_id') ?? '';
  const flags = [
    /^[\w-]{1,100}$/.test(state) ? ` --state ${state}` : '',
    /^\d{1,15}$/.test(installation) ? ` --installation-id ${installation}` : '',
  ].join('');
  const main = flags
    ? html`<h1>One more step</h1>
<p class="lead">Go back to your terminal and finish the connection there:</p>
<p><code>svc git-host complete${flags}</code></p>`
    : html`<h1>Nothing to finish</h1>
<p class="lead">Connect a repository from your terminal: <code>svc apps git connect</code>.</p>`;
  return pageResponse({ title: 'Git host', main }, { status: 200 });
};
