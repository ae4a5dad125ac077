import type { ClaimedWork } from './claimed-work.ts';
import type { BuiltSite, Released } from './deployment-parts.ts';
import { asHolder, endDeployment } from './end-deployment.ts';
import { goLive } from './go-live.ts';
import { type DeploymentRow, findDeploymentRow } from './store.ts';

/** What was built becomes a release of the app's site; where somebody has to look at it first, it waits for that. */
export async function releaseStatic(
  work: ClaimedWork,
  row: DeploymentRow,
  site: BuiltSite | null,
): Promise<void> {
  const { parts, log, claimed } = work;
  const released = await releaseOf(work, row, site);
  if (released.outcome === 'active') {
    // Who shows a release makes its deployment live with it; this is for one that was shown before all of that was written.
    const now = await findDeploymentRow(parts.db, claimed, row.id);
    if (now?.state !== 'live')
      await asHolder(work, 'deployments.live', (ctx, held) =>
        goLive(ctx, { ...held, releaseId: released.releaseId }),
      );
    log.sink('platform', 'Released, and live.');
    return;
  }
  const next =
    released.outcome === 'staged'
      ? 'It is staged: ask for its promotion with svc apps static releases promote-request, and somebody else approves it.'
      : 'Others see the app, so it is shown after a review: enable staging, stage the release and ask for its promotion.';
  log.sink('platform', `Release ${released.releaseId} is made, and not shown yet. ${next}`);
  await endDeployment(work, { state: 'built', releaseId: released.releaseId });
}

function releaseOf(
  { parts, signal }: ClaimedWork,
  row: DeploymentRow,
  site: BuiltSite | null,
): Promise<Released> {
  if (row.source === 'artifact') {
    if (row.release_id === null)
      throw new Error('A static deployment without a release can not be gone back to.');
    return parts.sites.showAgain(row, row.release_id);
  }
  if (!site) throw new Error('A static build answered no folder.');
  return parts.sites.release(row, site, signal);
}
