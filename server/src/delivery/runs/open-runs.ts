import type { Invalidation } from '../../core/invalidation.ts';
import { runsTag } from './rules.ts';
import { createScheduler } from './schedules.ts';
import { createRunWorker, type RunDeps } from './worker.ts';

/** The worker and the scheduler of one server process. */
export function startRuns(deps: RunDeps, { onChange }: Pick<Invalidation, 'onChange'>) {
  const worker = createRunWorker(deps);
  const scheduler = createScheduler(deps);
  onChange((tag) => {
    if (tag !== runsTag && tag !== null) return;
    worker.wake();
    scheduler.wake();
    worker
      .checkCancelations()
      .catch((error: unknown) => deps.log.warn({ err: error }, 'check for cancelations failed'));
  });
  worker.start();
  scheduler.start();
  return {
    async stop() {
      await Promise.all([worker.stop(), scheduler.stop()]);
    },
  };
}
