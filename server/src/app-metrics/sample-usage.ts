import { claimSamples, countCpu } from '../deployments/sampled-instances.ts';
import type { Runtime } from '../drivers/runtime/runtime.ts';
import type { Db } from '../plumbing/db.ts';
import type { AppMetrics } from './create-app-metrics.ts';

/**
 * What instances use, noted for their apps; to be called every ten seconds. What is counted already stands in the tables:
 * instances may outlive the server, and several copies of it may see the same ones.
 */
export function createUsageSampler({
  db,
  runtime,
  metrics,
}: {
  db: Db;
  runtime: Pick<Runtime, 'usage' | 'node'>;
  metrics: Pick<AppMetrics, 'noteUsage'>;
}): { sample(): Promise<void> } {
  return {
    async sample() {
      const byApp = new Map<string, { cpuMs: number; memoryBytes: number }>();
      for (const instance of await claimSamples(db, runtime.node)) {
        const used = await runtime.usage(instance).catch(() => null);
        const cpuMs = used && (await countCpu(db, instance, used.cpuMs));
        if (used === null || cpuMs === null) continue;
        const sum = byApp.get(instance.appId) ?? { cpuMs: 0, memoryBytes: 0 };
        sum.cpuMs += cpuMs;
        sum.memoryBytes += used.memoryBytes;
        byApp.set(instance.appId, sum);
      }
      for (const [appId, used] of byApp) metrics.noteUsage(appId, used);
    },
  };
}
