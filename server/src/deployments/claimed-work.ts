import { LostDeployment } from './deployment-failure.ts';
import type { DeploymentParts, OpenLog } from './deployment-parts.ts';
import type { Instances } from './instances.ts';
import type { DeploymentRow, DeploymentState } from './store.ts';
import { type Claimed, findClaimed, saveClaimed } from './work-store.ts';

/** One deployment while this copy of the server has it. */
export interface ClaimedWork {
  parts: DeploymentParts;
  instances: Instances;
  claimed: Claimed;
  log: OpenLog;
  /** Aborted when the lease is lost, the server stops, or somebody cancels it. */
  signal: AbortSignal;
  /** Aborted only in the last case. */
  canceled: AbortSignal;
  /** Nothing is built for it any more: another may be. */
  isBuilt(): void;
}

/** As it stands; somebody else's is not worked on. */
export async function rowOf({
  parts,
  claimed,
}: Pick<ClaimedWork, 'parts' | 'claimed'>): Promise<DeploymentRow> {
  const row = await findClaimed(parts.db, claimed);
  if (!row) throw new LostDeployment();
  return row;
}

/** Writes down how far it is; a lost lease changes nothing, and ends the work. */
export async function advance(
  work: Pick<ClaimedWork, 'parts' | 'claimed'>,
  from: DeploymentState,
  set: Partial<DeploymentRow>,
): Promise<DeploymentRow> {
  if (!(await saveClaimed(work.parts.db, work.claimed, { from, set }))) throw new LostDeployment();
  return rowOf(work);
}
