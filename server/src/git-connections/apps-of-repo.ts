import type { Db } from '../plumbing/db.ts';
import { listConnectionRowsOfRepo, type RepoAt } from './connection-store.ts';

/** The apps that are deployed from a repository, of whichever tenants. */
export async function appsOfRepo(
  db: Db,
  repo: RepoAt,
): Promise<{ tenantId: string; appId: string; branch: string }[]> {
  const rows = await listConnectionRowsOfRepo(db, repo);
  return rows.map(({ tenant_id, app_id, branch }) => ({ tenantId: tenant_id, appId: app_id, branch }));
}
