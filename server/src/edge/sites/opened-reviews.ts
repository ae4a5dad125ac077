import type { Logger } from 'pino';
import type { Db } from '../../core/db.ts';
import { openForReview } from '../../delivery/deployments/reviews.ts';
import type { RunningApp, SiteSnapshot } from './site-cache.ts';

const everyMs = 30_000;
const deploymentsMax = 1_000;

/** A deployment in review runs only while people look at it: requests to its staging host start it and keep it running. */
export function createOpenedReviews({ db, log }: { db: Db; log: Logger }) {
  const opened = new Map<string, number>();
  return (site: SiteSnapshot, { deploymentId, addresses }: RunningApp): void => {
    if (site.hostKind !== 'staging') return;
    const now = performance.now();
    const last = opened.get(deploymentId) ?? Number.NEGATIVE_INFINITY;
    if (now - last < (addresses.length === 0 ? everyMs / 10 : everyMs)) return;
    if (opened.size >= deploymentsMax) opened.clear();
    opened.set(deploymentId, now);
    openForReview(db, deploymentId).catch((error: unknown) =>
      log.warn({ err: error, deployment: deploymentId }, 'start of a deployment in review failed'),
    );
  };
}
