import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Invalidation } from '../../core/invalidation.ts';
import type { RawDatabases } from '../../drivers/raw-database/raw-databases.ts';
import type { Runtime } from '../../drivers/runtime/runtime.ts';
import type { Supervised } from '../../drivers/supervisor/connect-supervisor.ts';
import type { Toolchains } from '../../drivers/toolchains/toolchains.ts';
import { planSource } from '../detect/plan-source.ts';
import type { LogSinks } from '../logs/log-sink.ts';
import type { FolderReleaseDeps } from '../static-sites/deployment-releases.ts';
import { deploymentEnvironment, type FetchDeps, fetchSource } from './build-deployment.ts';
import { deleteOrphanedWorkFolders } from './claimed-work.ts';
import { deploymentSites } from './go-live.ts';
import { createInstances } from './instances.ts';
import { deleteNodeInstances } from './instances-store.ts';
import { createReconciler, type ReconcileOptions } from './reconcile.ts';
import { type BuildStore, type DeploymentDeps, workTag } from './rules.ts';
import { createDeploymentWorker } from './worker.ts';

const concurrencyMax = { builds: 2, all: 10 };
const trimEveryMs = 3_600_000;

export async function openDeployments(
  options: FolderReleaseDeps &
    FetchDeps & {
      runtime: Runtime;
      dataDir: string;
      supervised: Pick<Supervised, 'worker'> | null;
      appsDomain: string;
      rawDatabases: RawDatabases;
      logs: LogSinks;
      toolchains: Toolchains | null;
      builds: BuildStore | null;
      invalidation: Pick<Invalidation, 'onChange'>;
    } & ReconcileOptions,
) {
  const { db, runtime } = options;
  const workDir = join(options.dataDir, 'runtime', 'work');
  mkdirSync(workDir, { recursive: true, mode: 0o711 });
  await deleteOrphanedWorkFolders(db, workDir);
  // Another instance may listen at the address of one that ended with an earlier server or agent. Later workers of this machine find
  // instances that others are starting.
  if (runtime.kind === 'process' && options.supervised?.worker?.isFirst !== false)
    await deleteNodeInstances(db, runtime.node, { except: await runtime.list() });
  return startDeployments(
    {
      ...options,
      workDir,
      concurrencyMax,
      source: { fetch: (job) => fetchSource(options, job), plan: planSource },
      environment: deploymentEnvironment(db, options),
      sites: deploymentSites(options),
    },
    options,
  );
}

export function startDeployments(
  deps: DeploymentDeps,
  { invalidation, ...options }: { invalidation: Pick<Invalidation, 'onChange'> } & ReconcileOptions,
) {
  const { db, log, runtime, builds } = deps;
  const instances = createInstances(deps);
  const worker = createDeploymentWorker(deps, instances);
  const reconciler = createReconciler({ ...options, db, log, runtime }, instances);
  invalidation.onChange((tag) => {
    if (tag !== workTag && tag !== null) return;
    worker.wake();
    reconciler.wake();
    worker
      .checkCancelations()
      .catch((error: unknown) => log.warn({ err: error }, 'check for cancelations failed'));
  });
  worker.start();
  reconciler.start();
  // Not a job, which one server of all runs: this is about the disk of this machine.
  const trimming = setInterval(
    () => void builds?.trim().catch((error: unknown) => log.warn({ err: error }, 'trim of builds failed')),
    trimEveryMs,
  );
  return {
    async stop() {
      clearInterval(trimming);
      await Promise.all([worker.stop(), reconciler.stop()]);
      // Processes end with this server: stop routing requests to them.
      if (runtime.endsWithServer) await deleteNodeInstances(db, runtime.node);
      await instances.close();
    },
  };
}
