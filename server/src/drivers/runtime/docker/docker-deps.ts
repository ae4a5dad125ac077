import { createHmac } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { tryLock, writeDurably } from '../../os/files.ts';
import { checkId } from '../process/folders.ts';
import type { DiskWatch } from '../process/process-deps.ts';
import type { Artifact, StartJob } from '../runtime.ts';
import type { AppPorts } from './app-ports.ts';
import type { ComposeApp } from './compose/compose-app.ts';
import type { DiskLimits } from './disk-limits.ts';
import type { Engine } from './engine.ts';
import type { Firewall } from './firewall.ts';
import { imageRegistry } from './read-dockerfile.ts';

export interface DockerDeps {
  engine: Engine;
  node: string;
  swarmNode: string | null;
  /** The registry from which the nodes of a Swarm get the images of apps. */
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

export interface ImageArtifact {
  kind: 'image';
  buildId: string;
  imageId: string;
  image: string;
  run: { dir: string; command: string; user: string } | null;
  port: number;
}

export interface ComposeArtifact {
  kind: 'compose';
  buildId: string;
  app: ComposeApp;
  images: Readonly<Record<string, { image: string; imageId: string }>>;
}

type DockerArtifact = ImageArtifact | ComposeArtifact;

export function parseArtifact(artifact: Artifact): DockerArtifact | null {
  const { kind } = artifact;
  return kind === 'image' || kind === 'compose' ? (artifact as unknown as DockerArtifact) : null;
}

interface BuildNote {
  appId: string;
  artifact: Artifact;
}

/** Written before the image is built, so that images of interrupted builds are found too. */
interface BuildNotes {
  write(buildId: string, note: BuildNote): void;
  list(): BuildNote[];
  remove(buildId: string): void;
}

export function createBuildNotes(folder: string): BuildNotes {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (buildId: string) => join(folder, `${checkId(buildId)}.json`);
  return {
    write: (buildId, note) => writeDurably(pathOf(buildId), `${JSON.stringify(note)}\n`),
    list: () =>
      readdirSync(folder)
        .filter((name) => /^[\w-]+\.json$/.test(name))
        .flatMap((name) => {
          try {
            return [JSON.parse(readFileSync(join(folder, name), 'utf8')) as BuildNote];
          } catch {
            return [];
          }
        }),
    remove: (buildId) => rmSync(pathOf(buildId), { force: true }),
  };
}

export const labelNames = {
  installation: 'svc.installation',
  app: 'svc.app',
  deployment: 'svc.deployment',
  instance: 'svc.instance',
  /** Set on a one-off command, which is not an instance. */
  run: 'svc.run',
  /** Set on an instance of a build in review. */
  review: 'svc.review',
  service: 'svc.service',
  port: 'svc.port',
  /** The port to carry connections from, and PORT. */
  forward: 'svc.forward',
  /** Set on a container that finds the port of an instance. */
  helper: 'svc.helper',
  services: 'svc.services',
  diskMb: 'svc.disk_mb',
  /** Set on a service that may run on any node of a Swarm. */
  spread: 'svc.spread',
} as const;

export function buildLabels(deps: DockerDeps, job: { appId: string; deploymentId: string }) {
  return {
    [labelNames.installation]: deps.installation,
    [labelNames.app]: job.appId,
    [labelNames.deployment]: job.deploymentId,
  };
}

export function instanceLabels(
  deps: DockerDeps,
  job: StartJob,
  own: { service: string; port: number | null },
): Record<string, string> {
  return {
    ...buildLabels(deps, job),
    [labelNames.instance]: job.instanceId,
    [labelNames.service]: own.service,
    [labelNames.services]: JSON.stringify(deps.firewall.services(job.instanceId)),
    [labelNames.diskMb]: String(job.limits.diskMb),
    ...(job.isInReview ? { [labelNames.review]: 'true' } : {}),
    ...(own.port === null ? {} : { [labelNames.port]: String(own.port) }),
  };
}

export const instanceName = (instanceId: string) => `svc-${instanceId}`;

/**
 * Unless a Swarm gets it from a registry, the name is of one that does not exist, so no pull can succeed. The tag is secret: whoever knows an image's name could
 * build from it.
 */
export function imageName(
  { imageKey }: Pick<DockerDeps, 'imageKey'>,
  job: { appId: string; buildId: string },
  registry = imageRegistry,
) {
  const secret = createHmac('sha256', imageKey()).update(job.buildId).digest('hex').slice(0, 48);
  return `${registry}svc/${job.appId}:${secret}`;
}

export const filters = (conditions: Record<string, readonly string[]>) => ({
  filters: JSON.stringify(conditions),
});
export const labelFilter = (name: string, value: string) => filters({ label: [`${name}=${value}`] });
/** Without containers of builds: a Dockerfile can set any label, but no name. */
export const instanceFilter = (name: string, value: string) =>
  filters({ label: [`${name}=${value}`], name: ['^/?svc-'] });
