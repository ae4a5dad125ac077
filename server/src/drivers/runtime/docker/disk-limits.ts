import type { DiskWatch } from '../process/process-deps.ts';
import type { LogSink } from '../runtime.ts';
import { type DockerDeps, filters, instanceFilter, labelNames } from './docker-deps.ts';
import { type ContainerDetail, type ContainerSummary, type Engine, ignoreMissing } from './engine.ts';

/** An engine has no quota that works on every file system, so it is asked how much containers have written. */
export interface DiskLimits {
  add(instance: { instanceId: string; diskMb: number; log: LogSink }): void;
  /** Why it was stopped, or null. */
  reason(instanceId: string): string | null;
  remove(instanceId: string): void;
  close(): void;
}

export function createDiskLimits({ engine, disk }: Pick<DockerDeps, 'engine' | 'disk'>): DiskLimits {
  const watched = new Map<string, { stop(): void }>();
  const reasons = new Map<string, string>();

  function add({ instanceId, diskMb, log }: Parameters<DiskLimits['add']>[0]): void {
    watched.get(instanceId)?.stop();
    watched.set(
      instanceId,
      disk.add({
        measure: async () => ({ bytes: await measureInstance(engine, instanceId) }),
        mbMax: diskMb,
        onTooMuch(reason) {
          reasons.set(instanceId, reason);
          log('platform', `The app ${reason}.`);
          void killInstance(engine, instanceId).finally(() => {
            // A Swarm starts it again, and a kill may fail.
            if (watched.has(instanceId)) add({ instanceId, diskMb, log });
          });
        },
      }),
    );
  }

  return {
    add,
    reason: (instanceId) => reasons.get(instanceId) ?? null,
    remove(instanceId) {
      watched.get(instanceId)?.stop();
      watched.delete(instanceId);
      reasons.delete(instanceId);
    },
    close() {
      watched.clear();
      disk.close();
    },
  };
}

/** The files of containers that have ended are removed with the instance. */
async function listRunning(engine: Engine, instanceId: string): Promise<ContainerSummary[]> {
  const query = { size: 1, ...instanceFilter(labelNames.instance, instanceId) };
  return engine.json<ContainerSummary[]>('GET', '/containers/json', { query });
}

async function measureInstance(engine: Engine, instanceId: string): Promise<number> {
  const containers = await listRunning(engine, instanceId).catch(() => []);
  const written = containers.reduce((sum, { SizeRw = 0 }) => sum + SizeRw, 0);
  const volumes = containers
    .flatMap(({ Mounts }) => Mounts ?? [])
    .flatMap(({ Type, Name }) => (Type === 'volume' && Name !== undefined ? [Name] : []));
  if (volumes.length === 0) return written;
  return written + (await measureVolumes(engine, new Set(volumes)).catch(() => 0));
}

interface VolumeUsage {
  Volumes: { Name: string; UsageData?: { Size: number } | null }[] | null;
}

/** Older engines ignore `type` and count images too. */
async function measureVolumes(engine: Engine, names: ReadonlySet<string>): Promise<number> {
  const query = { type: 'volume' };
  const { Volumes } = await engine.json<VolumeUsage>('GET', '/system/df', { query, upTo: '1.42' });
  return (Volumes ?? [])
    .filter(({ Name }) => names.has(Name))
    .reduce((sum, { UsageData }) => sum + Math.max(0, UsageData?.Size ?? 0), 0);
}

async function killInstance(engine: Engine, instanceId: string): Promise<void> {
  const containers = await listRunning(engine, instanceId).catch(() => []);
  await Promise.allSettled(containers.map(({ Id }) => engine.send('POST', `/containers/${Id}/kill`)));
}

/** Each step of a build has a container of its own. Aborts the returned signal with the reason. */
export function watchBuildDisk(
  { engine, disk }: { engine: Engine; disk: DiskWatch },
  { network, isOwn, mbMax }: { network: string; isOwn: (step: ContainerDetail) => boolean; mbMax: number },
): { signal: AbortSignal; stop(): void } {
  const steps = new Map<string, number>();
  const exceeded = new AbortController();
  const query = filters({ network: [network] });
  async function measure() {
    const all = await engine
      .json<ContainerSummary[]>('GET', '/containers/json', { query })
      .catch((): ContainerSummary[] => []);
    for (const { Id } of all) {
      const path = `/containers/${Id}/json`;
      const found = await ignoreMissing(
        engine.json<ContainerDetail>('GET', path, { query: { size: 1 } }),
      ).catch(() => null);
      if (found && isOwn(found)) steps.set(Id, found.SizeRw ?? 0);
    }
    return { bytes: [...steps.values()].reduce((sum, bytes) => sum + bytes, 0) };
  }
  const { stop } = disk.add({ measure, mbMax, onTooMuch: (reason) => exceeded.abort(reason) });
  return { signal: exceeded.signal, stop };
}
