import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { planSource } from '../detect/plan-source.ts';
import type { Runtime } from '../drivers/runtime/runtime.ts';
import type { LogSinks } from '../logs/log-sink.ts';
import type { Invalidation } from '../plumbing/invalidation.ts';
import type { FolderReleaseParts } from '../static-sites/release-from-folder.ts';
import { createDeploymentWorker } from './create-deployment-worker.ts';
import type { DeploymentParts } from './deployment-parts.ts';
import { environmentOfApp } from './environment-of-app.ts';
import { type FetchParts, fetchSource } from './fetch-source.ts';
import { createInstances } from './instances.ts';
import { forgetInstancesAt } from './instances-store.ts';
import { workTag } from './queue-deployment.ts';
import { createReconciliation, type ReconcilingOptions } from './reconcile.ts';
import { removeOldWork } from './remove-old-work.ts';
import { sitesOfDeployments } from './sites-of-deployments.ts';

export interface OpenDeployments {
  stop(): Promise<void>;
}

const atOnceMax = { builds: 2, all: 10 };

/** Begins to carry deployments out, and to keep running what is live. */
export async function openDeployments(
  options: FolderReleaseParts &
    FetchParts & {
      runtime: Runtime;
      dataDir: string;
      appsDomain: string;
      logs: LogSinks;
      invalidation: Pick<Invalidation, 'onChange'>;
    } & ReconcilingOptions,
): Promise<OpenDeployments> {
  const { db, outbox, log, runtime, logs } = options;
  const workDir = join(options.dataDir, 'runtime', 'work');
  mkdirSync(workDir, { recursive: true, mode: 0o711 });
  await removeOldWork(db, workDir);
  return startDeployments(
    {
      ...{ db, outbox, log, runtime, workDir, logs, atOnceMax },
      source: { fetch: (job) => fetchSource(options, job), plan: planSource },
      environment: environmentOfApp(db, options),
      sites: sitesOfDeployments(options),
    },
    options,
  );
}

/** The worker and the reconciliation of one copy of the server. */
export function startDeployments(
  parts: DeploymentParts,
  { invalidation, ...options }: { invalidation: Pick<Invalidation, 'onChange'> } & ReconcilingOptions,
): OpenDeployments {
  const { db, log, runtime } = parts;
  const instances = createInstances(parts);
  const worker = createDeploymentWorker(parts, instances);
  const reconciliation = createReconciliation({ ...options, db, log, runtime }, instances);
  invalidation.onChange((tag) => {
    if (tag !== workTag && tag !== null) return;
    worker.wake();
    reconciliation.wake();
    worker.lookForCancels().catch((error: unknown) => log.warn({ err: error }, 'could not look for cancels'));
  });
  worker.start();
  reconciliation.start();
  return {
    async stop() {
      await Promise.all([worker.stop(), reconciliation.stop()]);
      // Processes end with this server: nobody is to be led to them any more.
      if (runtime.kind === 'process') await forgetInstancesAt(db, runtime.node);
      await instances.close();
    },
  };
}
