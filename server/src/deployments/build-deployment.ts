import { join } from 'node:path';
import type { Built } from '../drivers/runtime/runtime.ts';
import { appOfDeployment } from './app-of-deployment.ts';
import { advance, type ClaimedWork } from './claimed-work.ts';
import { DeploymentFailure } from './deployment-failure.ts';
import type { BuiltSite } from './deployment-parts.ts';
import { giveStorage } from './give-storage.ts';
import type { DeploymentRow } from './store.ts';
import { newWorkFolder } from './work-folder.ts';

export interface BuiltDeployment {
  row: DeploymentRow;
  /** Of `static`: what is to be released. */
  site: BuiltSite | null;
}

/**
 * From where the source is to something that can be started; always from the beginning. A site that is made anew for its
 * release stays where it is: for who looks at it nothing goes back.
 */
export async function buildDeployment(work: ClaimedWork, before: DeploymentRow): Promise<BuiltDeployment> {
  const { parts, log, signal } = work;
  // What was built before stays what it was, and only the variables may be new ones.
  if (before.source === 'artifact') {
    const row = await advance(work, 'building', { state: 'built', step: null, built_at: new Date() });
    return { row, site: null };
  }
  const { state } = before;
  const into = join(await newWorkFolder(parts.workDir, work.claimed), 'source');
  let row = await advance(work, state, { step: 'fetch' });
  const fetched = await parts.source.fetch({ row, into, log: log.sink, signal });
  row = await advance(work, state, { ...fetched, step: 'detect' });
  const { plan, health, env, site, told, wantsStorage } = await parts.source.plan(into, {
    method: row.method,
  });
  for (const line of told) log.sink('platform', line);
  const refused = await parts.runtime.refuses({ method: row.method, plan });
  if (refused !== null) throw new DeploymentFailure('runtime_unsupported', 'detect', refused);
  if (wantsStorage) await giveStorage(work);
  row = await advance(work, state, { step: 'build' });
  const app = await appOfDeployment(parts.db, work.claimed);
  const own = await parts.environment.own(row);
  const built = await parts.runtime.build({
    ...{ tenantId: row.tenant_id, appId: row.app_id, deploymentId: row.id, number: app.number },
    ...{
      buildId: work.claimed.lease,
      method: row.method,
      plan,
      sourceDir: into,
      limits: app.limits,
      log: log.sink,
      signal,
    },
    env: { ...env, ...(await parts.environment.given(row, 'build')), ...own },
  });
  // Built all the same, and by nobody wanted.
  if (work.canceled.aborted) await parts.runtime.discard(built.artifact);
  signal.throwIfAborted();
  return {
    row: await saveBuilt(work, row, built, { health, env }),
    site: built.filesDir === null ? null : { dir: built.filesDir, config: site },
  };
}

function saveBuilt(
  work: ClaimedWork,
  { state }: DeploymentRow,
  { artifact, digest }: Built,
  startWith: NonNullable<DeploymentRow['start_with']>,
): Promise<DeploymentRow> {
  return advance(work, state, {
    ...(state === 'building' ? { state: 'built' as const, step: null } : { step: 'switch' as const }),
    ...{ runtime: work.parts.runtime.kind, digest, is_kept: true },
    ...{ artifact, start_with: startWith, built_at: new Date() },
  });
}
