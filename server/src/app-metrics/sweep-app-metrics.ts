import { metricsKeptDays } from '@svc/contract/app-metrics.ts';
import type { Db } from '../plumbing/db.ts';
import { deleteOldMinutes } from './store.ts';

export async function sweepAppMetrics(db: Db): Promise<void> {
  await deleteOldMinutes(db, metricsKeptDays);
}
