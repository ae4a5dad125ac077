import { gitWebhookPath } from '@svc/contract/git-host.ts';
import { z } from 'zod';
import type { GitHostInstallation, RepoName } from '../drivers/git-host/git-host.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { connectedRepository } from './connected-repository.ts';
import { type ConnectionRow, findConnectionRow, lockHooksOf, saveHook } from './connection-store.ts';
import type { GitParts } from './git-parts.ts';
import { repoNameOf } from './prepare-connection.ts';
import { whileAsking } from './while-asking.ts';

export const makeHookTopic = 'git.makeHook';

const Payload = z.object({ tenant_id: z.string(), app_id: z.string() });

/** Where the git host is to tell of pushes. */
export const hookUrl = ({ baseUrl }: Pick<GitParts, 'baseUrl'>) => `${baseUrl}${gitWebhookPath}`;

/** One hook per repository, however many apps are connected to it: it is looked for before it is made. */
export function makeHook(parts: GitParts): Effect {
  return async (payload) => {
    const { tenant_id: tenantId, app_id: appId } = Payload.parse(payload);
    const row = await findConnectionRow(parts.db, { tenantId, appId });
    if (!row || row.hook_state === 'ok') return;
    try {
      const { id } = await hookOf(parts, row);
      await saveHook(parts.db, row, { hook_state: 'ok', hook_id: id, hook_detail: '' });
    } catch (error) {
      const detail = error instanceof Error ? error.message.slice(0, 500) : 'It failed.';
      await saveHook(parts.db, row, { hook_state: 'failed', hook_detail: detail });
      throw error;
    }
  };
}

async function hookOf(parts: GitParts, row: ConnectionRow): Promise<{ id: number }> {
  const { gitHost } = parts;
  if (row.host !== gitHost.webUrl)
    throw new Error(`The repository is at ${row.host}, which is not used any more.`);
  const { hands: host, repository: repo } = await connectedRepository(parts, {
    ...{ repo: repoNameOf(row.repo), repoId: row.repo_id, installationId: row.installation_id },
  });
  return whileAsking(parts.db, async (tx) => {
    await lockHooksOf(tx, { host: row.host, repoId: row.repo_id });
    return findOrMake(host, repo, hookUrl(parts));
  });
}

async function findOrMake(host: GitHostInstallation, repo: RepoName, url: string): Promise<{ id: number }> {
  const found = await host.findHook(repo, url);
  if (found) return found;
  try {
    return await host.createHook(repo, url);
  } catch (error) {
    // Made after all, and only the answer was lost.
    const made = await host.findHook(repo, url);
    if (made) return made;
    throw error;
  }
}
