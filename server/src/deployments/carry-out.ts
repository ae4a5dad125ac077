import { failureOfDatabase } from '../plumbing/database-errors.ts';
import { beginRelease } from './begin-release.ts';
import { buildDeployment } from './build-deployment.ts';
import { type ClaimedWork, rowOf } from './claimed-work.ts';
import { DeploymentFailure, failureOf, LostDeployment } from './deployment-failure.ts';
import type { BuiltSite } from './deployment-parts.ts';
import { endDeployment } from './end-deployment.ts';
import { releaseInTime } from './release-in-time.ts';
import { releaseInstance } from './release-instance.ts';
import { releaseStatic } from './release-static.ts';
import { attemptsMax } from './rules.ts';
import type { DeploymentRow } from './store.ts';
import { removeWorkFolder } from './work-folder.ts';

/** A deployment from where it stands to its end. What it throws leaves it where it is, for the next who claims it. */
export async function carryOut(work: ClaimedWork): Promise<void> {
  const { parts, claimed, log } = work;
  try {
    await goThrough(work);
  } catch (error) {
    if (error instanceof LostDeployment) return;
    if (work.canceled.aborted) {
      log.sink('platform', 'Canceled.');
      return await endDeployment(work, { state: 'canceled' });
    }
    work.signal.throwIfAborted();
    // The database is away for a moment: that is nobody's failure.
    if (failureOfDatabase(error)) throw error;
    const known = failureOf(error);
    if (!known)
      parts.log.error({ err: error, deployment: claimed.id }, 'a deployment failed by a fault of ours');
    const row = await rowOf(work);
    const failure =
      known ??
      new DeploymentFailure('internal', row.step ?? 'build', 'A fault of the platform; its log says more.');
    log.sink('platform', `Failed: ${failure.message}`);
    await endDeployment(work, { state: 'failed', failure });
  } finally {
    await removeWorkFolder(parts.workDir, claimed);
  }
}

async function goThrough(work: ClaimedWork): Promise<void> {
  let row = await rowOf(work);
  if (row.attempts > attemptsMax) throw lost(row);
  if (row.attempts > 1) work.log.sink('platform', 'Taken over from a copy of the server that went silent.');
  if (row.cancel_asked && row.state !== 'releasing') return endDeployment(work, { state: 'canceled' });
  let site: BuiltSite | null = null;
  // The files of a site are only where they were built: its release begins with the source once more, and stays one.
  const isSiteAnew = row.method === 'static' && row.source !== 'artifact';
  if (row.state === 'building' || isSiteAnew) ({ row, site } = await buildDeployment(work, row));
  work.isBuilt();
  if (row.state === 'built') {
    const begun = await beginRelease(work);
    if (typeof begun === 'string') return endDeployment(work, { state: begun });
    row = begun;
  }
  const releasing = row;
  await releaseInTime(work, releasing, (inTime) =>
    releasing.method === 'static'
      ? releaseStatic(inTime, releasing, site)
      : releaseInstance(inTime, releasing),
  );
}

function lost({ step }: DeploymentRow): DeploymentFailure {
  return new DeploymentFailure(
    'lost',
    step ?? 'build',
    `The server went silent ${attemptsMax} times while it worked on this.`,
  );
}
