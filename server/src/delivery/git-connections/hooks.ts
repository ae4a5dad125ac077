import { gitWebhookPath } from '@svc/contract/git-host.ts';
import { z } from 'zod';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import type { GitHostInstallation, RepoName } from '../../drivers/git/git-host.ts';
import {
  type ConnectionRow,
  findConnectionRow,
  listConnectionRowsOfRepo,
  lockRepoHooks,
  updateHook,
  withTransactionDuringRequest,
} from './connection-store.ts';
import { findConnectedRepository, parseRepoName, requireConnectedRepository } from './repositories.ts';
import type { GitDeps } from './rules.ts';

export const createHookTopic = 'git.makeHook';

const CreateHookPayload = z.object({ tenant_id: z.string(), app_id: z.string() });

const hookUrl = ({ baseUrl }: Pick<GitDeps, 'baseUrl'>) => `${baseUrl}${gitWebhookPath}`;

/** A repository has one hook for all connected apps, so an existing one is reused. */
export function createHook(deps: GitDeps): EffectHandler {
  return async (payload) => {
    const { tenant_id: tenantId, app_id: appId } = CreateHookPayload.parse(payload);
    const row = await findConnectionRow(deps.db, { tenantId, appId });
    if (!row || row.hook_state === 'ok') return;
    try {
      const { id } = await ensureHook(deps, row);
      await updateHook(deps.db, row, { hook_state: 'ok', hook_id: id, hook_detail: '' });
    } catch (error) {
      const detail = error instanceof Error ? error.message.slice(0, 500) : 'Unknown error.';
      await updateHook(deps.db, row, { hook_state: 'failed', hook_detail: detail });
      throw error;
    }
  };
}

async function ensureHook(deps: GitDeps, row: ConnectionRow): Promise<{ id: number }> {
  const { gitHost } = deps;
  if (row.host !== gitHost.webUrl)
    throw new Error(`The repository is at ${row.host}, which is no longer the configured git host.`);
  const { client, repository } = await requireConnectedRepository(deps, {
    repo: parseRepoName(row.repo),
    repoId: row.repo_id,
    installationId: row.installation_id,
  });
  return withTransactionDuringRequest(deps.db, async (tx) => {
    await lockRepoHooks(tx, { host: row.host, repoId: row.repo_id });
    return findOrCreateHook(client, repository, hookUrl(deps));
  });
}

async function findOrCreateHook(host: GitHostInstallation, repo: RepoName, url: string) {
  const found = await host.findHook(repo, url);
  if (found) return found;
  try {
    return await host.createHook(repo, url);
  } catch (error) {
    // The hook may exist although the response was lost.
    const created = await host.findHook(repo, url);
    if (created) return created;
    throw error;
  }
}

export const removeHookTopic = 'git.removeHook';

const RemoveHookPayload = z.object({
  host: z.string(),
  repo_id: z.int(),
  repo: z.string(),
  installation_id: z.int(),
});

export function hookRemoval(row: ConnectionRow): z.output<typeof RemoveHookPayload> {
  const { host, repo_id, repo, installation_id } = row;
  return { host, repo_id, repo, installation_id };
}

export function removeHook(deps: GitDeps): EffectHandler {
  return async (payload) => {
    const { host, repo_id: repoId, repo: name, installation_id } = RemoveHookPayload.parse(payload);
    const { gitHost, db } = deps;
    if (host !== gitHost.webUrl) return;
    await withTransactionDuringRequest(db, async (tx) => {
      await lockRepoHooks(tx, { host, repoId });
      if ((await listConnectionRowsOfRepo(tx, { host, repoId })).length > 0) return;
      const repo = parseRepoName(name);
      if ((await gitHost.installationOfRepo(repo))?.id !== installation_id) return;
      const found = await findConnectedRepository(deps, { repo, repoId, installationId: installation_id });
      if (!found) return;
      const hook = await found.client.findHook(found.repository, hookUrl(deps));
      if (hook) await found.client.removeHook(found.repository, hook.id);
    });
  };
}
