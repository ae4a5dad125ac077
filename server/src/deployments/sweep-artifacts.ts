import { sql } from 'kysely';
import type { Artifact, Runtime } from '../drivers/runtime/runtime.ts';
import type { Db } from '../plumbing/db.ts';
import { isOpen } from './store.ts';

/**
 * What was built and is nobody's: the server was stopped, lost its lease, or the app was purged in between. What is there
 * is asked before whose it is, and of an app that is at work all is left for the next time: what is being built has no
 * row yet that names it.
 */
export async function sweepArtifacts({
  db,
  runtime,
}: {
  db: Db;
  runtime: Pick<Runtime, 'kind' | 'artifacts' | 'discard'>;
}): Promise<void> {
  const there = (await runtime.artifacts?.()) ?? [];
  if (there.length === 0) return;
  const apps = [...new Set(there.map(({ appId }) => appId))];
  const { rows } = await sql<{ appId: string; artifact: Artifact | null; isOpen: boolean }>`
    select app_id as "appId", artifact, (${isOpen}) as "isOpen" from svc.deployments
    where app_id = any(${apps}::uuid[]) and (is_kept or (${isOpen}))`.execute(db);
  const byApp = Map.groupBy(rows, ({ appId }) => appId);
  for (const { appId, artifact } of there) {
    const isKnown = byApp.get(appId)?.some((row) => row.isOpen || Bun.deepEquals(row.artifact, artifact));
    if (!isKnown) await runtime.discard(artifact);
  }
}
