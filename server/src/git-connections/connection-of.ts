import type { RepoName } from '../drivers/git-host/git-host.ts';
import type { Db } from '../plumbing/db.ts';
import { type AppPlace, type ConnectionRow, findConnectionRow } from './connection-store.ts';
import { repoNameOf } from './prepare-connection.ts';

/** Where an app is deployed from. */
export interface Connection {
  repo: RepoName;
  repoId: number;
  branch: string;
  installationId: number;
  cloneUrl: string;
  isPrivate: boolean;
  hook: { state: ConnectionRow['hook_state']; id: number | null; detail: string };
}

export async function connectionOf(db: Db, place: AppPlace): Promise<Connection | null> {
  const row = await findConnectionRow(db, place);
  if (!row) return null;
  return {
    repo: repoNameOf(row.repo),
    repoId: row.repo_id,
    branch: row.branch,
    installationId: row.installation_id,
    cloneUrl: row.clone_url,
    isPrivate: row.is_private,
    hook: { state: row.hook_state, id: row.hook_id, detail: row.hook_detail },
  };
}
