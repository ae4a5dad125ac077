import { type ClaimedWork, rowOf } from './claimed-work.ts';
import { LostDeployment } from './deployment-failure.ts';
import { saveClaimed } from './work-store.ts';

/** The app's own variables, as the deployment has them from its first moment on: also one that is begun again. */
export async function environmentKept(
  work: Pick<ClaimedWork, 'parts' | 'claimed'>,
): Promise<Record<string, string>> {
  const { parts, claimed } = work;
  const row = await rowOf(work);
  if (row.env_sealed) return parts.environment.own(row);
  const set = { env_sealed: await parts.environment.snapshot(row) };
  if (!(await saveClaimed(parts.db, claimed, { from: row.state, set }))) throw new LostDeployment();
  return parts.environment.own({ ...row, ...set });
}
