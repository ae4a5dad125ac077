import { randomBytes } from 'node:crypto';
import { connectStateMinutes } from '@svc/contract/git-connections.ts';
import { holdApp } from '../apps/hold-app.ts';
import { sha256 } from '../plumbing/canonical.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { archived } from './archived.ts';
import { findConnectionRow } from './connection-store.ts';
import type { GitParts } from './git-parts.ts';
import { deleteOldStateRows, insertStateRow } from './state-store.ts';

/** A state of the person's own, by which they are known again when they come back from the git host. */
export async function beginGitConnection(
  ctx: AppMutationCtx,
  { repo, branch }: { repo?: string | undefined; branch: string },
  { gitHost }: Pick<GitParts, 'gitHost'>,
): Promise<{ state: string; install_url: string; expires_at: string }> {
  const app = await holdApp(ctx, { wanted: 'owners' });
  if (app.record !== 'active') throw archived();
  const who = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  const present = await findConnectionRow(ctx.db, { tenantId: who.tenantId, appId: app.id });
  if (present) throw fail('already_connected', { detail: `The app is connected to ${present.repo}.` });
  const state = randomBytes(32).toString('base64url');
  const expiresAt = new Date(ctx.now.getTime() + connectStateMinutes * 60_000);
  await deleteOldStateRows(ctx.db, who, ctx.now);
  await insertStateRow(ctx.db, {
    ...{ state_hash: sha256(state), tenant_id: who.tenantId, app_id: app.id, user_id: who.userId },
    ...{ repo: repo ?? null, branch, expires_at: expiresAt },
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
