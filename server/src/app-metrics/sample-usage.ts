import type { InstanceRef, Runtime } from '../drivers/runtime/runtime.ts';
import type { AppMetrics } from './create-app-metrics.ts';

/** What instances use, noted for their apps; to be called every ten seconds by whoever knows which instances are here. */
export function createUsageSampler({
  runtime,
  metrics,
}: {
  runtime: Pick<Runtime, 'usage'>;
  metrics: Pick<AppMetrics, 'noteUsage'>;
}): { sample(instances: readonly (InstanceRef & { appId: string })[]): Promise<void> } {
  let known = new Map<string, number>();
  return {
    async sample(instances) {
      const seen = new Map<string, number>();
      const byApp = new Map<string, { cpuMs: number; memoryBytes: number }>();
      for (const instance of instances) {
        const used = await runtime.usage(instance).catch(() => null);
        if (used === null) continue;
        seen.set(instance.instanceId, used.cpuMs);
        const before = known.get(instance.instanceId) ?? 0;
        const sum = byApp.get(instance.appId) ?? { cpuMs: 0, memoryBytes: 0 };
        // One that was started again counts from nothing.
        sum.cpuMs += used.cpuMs >= before ? used.cpuMs - before : used.cpuMs;
        sum.memoryBytes += used.memoryBytes;
        byApp.set(instance.appId, sum);
      }
      known = seen;
      for (const [appId, used] of byApp) metrics.noteUsage(appId, used);
    },
  };
}
