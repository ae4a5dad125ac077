import { z } from 'zod';
import type { Effect } from '../plumbing/outbox.ts';
import { findConnectedRepository } from './connected-repository.ts';
import { type ConnectionRow, listConnectionRowsOfRepo, lockHooksOf } from './connection-store.ts';
import type { GitParts } from './git-parts.ts';
import { hookUrl } from './make-hook.ts';
import { repoNameOf } from './prepare-connection.ts';
import { whileAsking } from './while-asking.ts';

export const removeHookTopic = 'git.removeHook';

const Payload = z.object({
  host: z.string(),
  repo_id: z.int(),
  repo: z.string(),
  installation_id: z.int(),
});

export function hookToRemove(row: ConnectionRow): z.output<typeof Payload> {
  const { host, repo_id, repo, installation_id } = row;
  return { host, repo_id, repo, installation_id };
}

/** Unless another app is connected to the same repository. One that can not be reached any more keeps its hook. */
export function removeHook(parts: GitParts): Effect {
  return async (payload) => {
    const { host, repo_id: repoId, repo: name, installation_id } = Payload.parse(payload);
    const { gitHost, db } = parts;
    if (host !== gitHost.webUrl) return;
    await whileAsking(db, async (tx) => {
      await lockHooksOf(tx, { host, repoId });
      if ((await listConnectionRowsOfRepo(tx, { host, repoId })).length > 0) return;
      const repo = repoNameOf(name);
      // The app is not installed there any more, or the repository is gone: then the hook is nobody's.
      const installation = await gitHost.installationOfRepo(repo);
      if (installation?.id !== installation_id) return;
      const wanted = { repo, repoId, installationId: installation_id };
      const found = await findConnectedRepository(parts, wanted);
      if (!found) return;
      const hook = await found.hands.findHook(found.repository, hookUrl(parts));
      if (hook) await found.hands.removeHook(found.repository, hook.id);
    });
  };
}
