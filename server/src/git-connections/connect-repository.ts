import { lockApp } from '../apps/app-row.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { archived } from './archived.ts';
import {
  type AppPlace,
  type ConnectionRow,
  insertConnectionRow,
  lockConnectionRow,
  saveConnectionRow,
} from './connection-store.ts';
import { makeHookTopic } from './make-hook.ts';
import type { PreparedConnection } from './prepare-connection.ts';

/** Of a person who may; the git host was asked before. The hook there is made after the change. */
export async function connectRepository(
  ctx: MutationCtx,
  {
    tenantId,
    appId,
    connectedBy,
    prepared,
  }: AppPlace & { connectedBy: string; prepared: PreparedConnection },
): Promise<{ row: ConnectionRow; isChanged: boolean }> {
  const place = { tenantId, appId };
  const app = await lockApp(ctx.db, tenantId, appId);
  if (!app) throw fail('not_found');
  if (app.record !== 'active') throw archived();
  const { host, repository, installation, branch } = prepared;
  const repo = `${repository.owner}/${repository.name}`;
  const present = await lockConnectionRow(ctx.db, place);
  if (present && (present.host !== host || present.repo_id !== repository.id))
    throw fail('already_connected', { detail: `The app is connected to ${present.repo}.` });
  if (present && present.branch !== branch)
    throw fail('already_connected', {
      detail: `The app is connected to ${present.repo} already, to its branch ${present.branch}.`,
    });

  const target = { kind: 'git_connection', id: appId, name: app.slug };
  const effect = { tenant_id: tenantId, app_id: appId };
  if (present) {
    // Asked for again where the hook could not be made: that is tried again.
    const isRetried = present.hook_state === 'failed';
    const set = isRetried ? ({ hook_state: 'waiting', hook_detail: '' } as const) : {};
    const { hook_state: before } = present;
    const row = { ...present, ...set };
    ctx.audit({
      ...{ action: 'git.connect', appId, target },
      ...{ before: { hook_state: before }, after: { hook_state: row.hook_state } },
    });
    if (isRetried) {
      await saveConnectionRow(ctx.db, place, set);
      ctx.enqueue(makeHookTopic, effect);
    }
    return { row, isChanged: isRetried };
  }

  const row: ConnectionRow = {
    ...{ app_id: appId, tenant_id: tenantId, host, repo_id: repository.id, repo, branch },
    ...{ is_private: repository.isPrivate, installation_id: installation.id },
    ...{ web_url: repository.webUrl, clone_url: repository.cloneUrl },
    ...{ hook_state: 'waiting', hook_id: null, hook_detail: '' },
    ...{ connected_by: connectedBy, connected_at: ctx.now },
  };
  await insertConnectionRow(ctx.db, row);
  ctx.audit({
    ...{ action: 'git.connect', appId, target, before: null },
    after: { repo, branch, private: row.is_private, installation_id: row.installation_id },
  });
  ctx.enqueue(makeHookTopic, effect);
  return { row, isChanged: true };
}
