import type { Db } from '../plumbing/db.ts';
import { type AppPlace, type DeploymentRow, findDeploymentRow, listDeploymentRows } from './store.ts';

export type Standing = Pick<
  DeploymentRow,
  'id' | 'seq' | 'state' | 'failure_code' | 'failure_detail' | 'ended_at'
>;

/** For who waits for a deployment: how it stands. */
export async function howItStands(db: Db, place: AppPlace, id: string): Promise<Standing | null> {
  return (await findDeploymentRow(db, place, id)) ?? null;
}

export async function newestDeployment(db: Db, place: AppPlace): Promise<Standing | null> {
  const { rows } = await listDeploymentRows(db, place, { window: { limit: 1, offset: 0 } });
  return rows[0] ?? null;
}
