import { mkdir, readdir, rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { tryLock } from '../../os/lock-file.ts';
import type { DiskWatch } from '../process/disk-watch.ts';
import type { AppPorts } from './app-ports.ts';
import type { BuildNotes } from './artifacts.ts';
import type { DiskLimits } from './disk-limits.ts';
import type { Engine } from './engine.ts';
import type { Firewall } from './firewall.ts';

export interface DockerDeps {
  engine: Engine;
  node: string;
  swarmNode: string | null;
  /** From which the nodes of a Swarm get the images of apps. */
  registry: string | null;
  /** Label for everything of this installation, since others may use the engine too. */
  installation: string;
  imageKey: () => string;
  baseImage: string;
  network: string | null;
  publish: Publish;
  buildVariables: Readonly<Record<string, string>>;
  path: string;
  composeTool: readonly string[] | null;
  logsDir: string;
  scratchDir: string;
  built: BuildNotes;
  departures: Departures;
  ports: AppPorts;
  disk: DiskWatch;
  diskLimits: DiskLimits;
  firewall: Firewall;
  buildMsMax: number;
  log: Logger;
}

interface Publish {
  ip: string;
  host: string;
}

/** Loopback, unless the engine is on another machine, whose address should be accessible only to the server. */
export function publishAddress(host: string, address: string | null): Publish {
  const found = address ?? (host.startsWith('tcp://') ? new URL(host).hostname : '127.0.0.1');
  const name = found === 'localhost' ? '127.0.0.1' : found;
  return { ip: isIP(name) ? name : '0.0.0.0', host: name };
}

interface Departures {
  onStateChange(listener: (instanceId: string) => void): void;
  changed(instanceId: string): void;
  isLeaving(instanceId: string): boolean;
  wasSeen(instanceId: string): void;
  /** Resolves when the state was seen, or after a timeout. The returned function ends it. */
  leave(instanceId: string): Promise<() => void>;
}

const seenMsMax = 3_000;
const propagationMs = 200;

export function createDepartures(): Departures {
  const listeners: ((instanceId: string) => void)[] = [];
  const leaving = new Map<string, PromiseWithResolvers<void>>();
  return {
    onStateChange: (listener) => listeners.push(listener),
    changed(instanceId) {
      for (const listener of listeners) listener(instanceId);
    },
    isLeaving: (instanceId) => leaving.has(instanceId),
    wasSeen: (instanceId) => leaving.get(instanceId)?.resolve(),
    async leave(instanceId) {
      const seen = Promise.withResolvers<void>();
      leaving.set(instanceId, seen);
      if (listeners.length > 0) {
        for (const listener of listeners) listener(instanceId);
        await Promise.race([seen.promise, Bun.sleep(seenMsMax)]);
        await Bun.sleep(propagationMs);
      }
      return () => leaving.delete(instanceId);
    },
  };
}

/** Temporary files. They may contain variables of apps, so the next start removes those of a killed server. */
interface Scratch {
  folder: string;
  close(): Promise<void>;
}

export async function openScratch(root: string): Promise<Scratch> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  for (const name of await readdir(root)) {
    if (name.includes('.')) continue;
    const lock = tryLock(join(root, `${name}.lock`));
    if (!('release' in lock)) continue;
    await rm(join(root, name), { recursive: true, force: true });
    lock.release();
  }
  const folder = join(root, crypto.randomUUID());
  // The lock comes first, because a folder without a lock may be removed.
  const lock = tryLock(`${folder}.lock`);
  if (!('release' in lock)) throw new Error(`${folder} is in use.`);
  await mkdir(folder, { mode: 0o700 });
  return {
    folder,
    async close() {
      await rm(folder, { recursive: true, force: true });
      lock.release();
    },
  };
}
