import type { ClaimedWork } from './claimed-work.ts';
import { DeploymentFailure, LostDeployment } from './deployment-failure.ts';
import { releaseMsMax } from './rules.ts';
import { type DeploymentRow, findDeploymentRow } from './store.ts';

/** While it is released nobody can cancel it, and the app can not be stopped: so that has an end by itself. */
export async function releaseInTime(
  work: ClaimedWork,
  row: DeploymentRow,
  release: (work: ClaimedWork) => Promise<void>,
): Promise<void> {
  const { parts, claimed } = work;
  const late = new AbortController();
  const ms = (parts.releaseMsMax ?? releaseMsMax)(row);
  const timer = setTimeout(() => late.abort(new Error('The release takes too long.')), ms);
  try {
    await release({ ...work, signal: AbortSignal.any([work.signal, late.signal]) });
  } catch (error) {
    if (!late.signal.aborted || work.signal.aborted || error instanceof LostDeployment) throw error;
    const step = (await findDeploymentRow(parts.db, claimed, row.id))?.step ?? 'start';
    throw new DeploymentFailure(
      'release_timeout',
      step,
      `It was not released within ${Math.round(ms / 1_000)} s.`,
    );
  } finally {
    clearTimeout(timer);
  }
}
