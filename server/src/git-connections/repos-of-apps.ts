import type { Db } from '../plumbing/db.ts';
import { listConnectionRowsOfApps } from './connection-store.ts';

/** The repositories of a host that these apps are deployed from. */
export async function reposOfApps(
  db: Db,
  tenantId: string,
  { host, appIds }: { host: string; appIds: readonly string[] },
): Promise<{ appId: string; repoId: number }[]> {
  if (appIds.length === 0) return [];
  const rows = await listConnectionRowsOfApps(db, tenantId, { appIds, host });
  return rows.map(({ repo_id, app_id }) => ({ repoId: repo_id, appId: app_id }));
}
