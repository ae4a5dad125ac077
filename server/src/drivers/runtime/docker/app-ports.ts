import { connect } from 'node:net';
import { join } from 'node:path';
import { projectRoot } from '../../../core/project-root.ts';
import { splitLines } from '../process/output.ts';
import type { LogSink } from '../runtime.ts';
import { type DockerDeps, instanceName, labelNames } from './docker-deps.ts';
import { type ContainerDetail, EngineError, ignoreMissing, readFrames } from './engine.ts';
import { inspectContainer } from './instances.ts';

/**
 * The ports of apps in containers. PORT is published. For an app that does not listen there, a helper container in its
 * network looks for its port and carries connections to it from a second published port, wherever the engine is.
 */
export interface AppPorts {
  /** A running helper continues. */
  watch(instanceId: string, log: LogSink): void;
  found(instanceId: string): { address?: string; unreachable?: string | undefined };
  remove(instanceId: string): Promise<void>;
  /** Helpers stay, as the apps do. */
  close(): Promise<void>;
}

type Deps = Pick<DockerDeps, 'engine' | 'installation' | 'baseImage' | 'publish' | 'departures' | 'log'>;

interface Watch {
  found: { address?: string; unreachable?: string | undefined };
  stopping: AbortController;
  running: Promise<void>;
}

/** Most apps listen on PORT by then, and need no helper. */
const probeMs = 2_000;
const probeEveryMs = 100;
const lookEveryMs = 500;
const afterFailureMs = 5_000;

export function createAppPorts(deps: Deps): AppPorts {
  const { engine, publish, departures } = deps;
  const watches = new Map<string, Watch>();

  async function run(instanceId: string, watch: Watch, log: LogSink): Promise<void> {
    const { signal } = watch.stopping;
    while (!signal.aborted) {
      const detail = await inspectContainer(engine, instanceName(instanceId));
      const ports = detail && appPorts(detail);
      if (!ports) return;
      const own = `${publish.host}:${ports.published}`;
      const forwarded = `${publish.host}:${ports.forward}`;
      if (!detail.State.Running || detail.State.Restarting) {
        await Promise.race([Bun.sleep(lookEveryMs), waitForAbort(signal)]);
        continue;
      }
      const helper = helperName(instanceId);
      const existing = await inspectContainer(engine, helper);
      const isCurrent =
        existing?.State.Running && existing.Config.Labels[startLabel] === detail.State.StartedAt;
      watch.found.address ??= isCurrent ? forwarded : own;
      if (!isCurrent) {
        await removeHelper(deps, instanceId);
        if (await answersSoon(own, signal)) {
          watch.found = { address: own };
          return;
        }
        if (signal.aborted) return;
        await startHelper(deps, instanceId, detail, ports);
      }
      const isRestarted = new AbortController();
      const looking = untilRestart(instanceId, detail, AbortSignal.any([signal, isRestarted.signal]), () =>
        isRestarted.abort(),
      );
      const isOwn = await followHelper(deps, helper, {
        signal: AbortSignal.any([signal, isRestarted.signal]),
        isKnown: isCurrent === true,
        log,
        onFound({ isForwarded, unreachable }) {
          const address = isForwarded ? forwarded : own;
          const isMoved = address !== watch.found.address;
          watch.found = { address, unreachable };
          if (isMoved) departures.changed(instanceId);
          return !isForwarded && unreachable === undefined;
        },
      });
      const hasFailed = !isOwn && !signal.aborted && !isRestarted.signal.aborted;
      isRestarted.abort();
      await looking;
      if (signal.aborted) return;
      await removeHelper(deps, instanceId);
      if (isOwn) return;
      if (watch.found.address !== own) departures.changed(instanceId);
      watch.found = { address: own };
      if (hasFailed) throw new Error('The container that looks for the port of an app has ended.');
    }
  }

  /** A container that starts again has a new network. */
  async function untilRestart(
    instanceId: string,
    { State: { StartedAt } }: ContainerDetail,
    signal: AbortSignal,
    onRestart: () => void,
  ): Promise<void> {
    while (!signal.aborted) {
      const now = await inspectContainer(engine, instanceName(instanceId)).catch(() => undefined);
      if (now !== undefined && (now?.State.StartedAt !== StartedAt || !now.State.Running)) return onRestart();
      await Promise.race([Bun.sleep(lookEveryMs), waitForAbort(signal)]);
    }
  }

  async function runWhileNeeded(instanceId: string, watch: Watch, log: LogSink): Promise<void> {
    while (!watch.stopping.signal.aborted)
      try {
        return await run(instanceId, watch, log);
      } catch (error) {
        if (watch.stopping.signal.aborted) return;
        deps.log.warn({ err: error, instance: instanceId }, 'the port of an app could not be found');
        await Promise.race([Bun.sleep(afterFailureMs), waitForAbort(watch.stopping.signal)]);
      }
  }

  return {
    watch(instanceId, log) {
      if (watches.has(instanceId)) return;
      const watch: Watch = { found: {}, stopping: new AbortController(), running: Promise.resolve() };
      watches.set(instanceId, watch);
      watch.running = runWhileNeeded(instanceId, watch, log);
    },
    found: (instanceId) => watches.get(instanceId)?.found ?? {},
    async remove(instanceId) {
      const watch = watches.get(instanceId);
      watch?.stopping.abort(new Error('The instance is being stopped.'));
      await watch?.running;
      watches.delete(instanceId);
      await removeHelper(deps, instanceId);
    },
    async close() {
      for (const { stopping } of watches.values()) stopping.abort(new Error('The server is stopping.'));
      await Promise.allSettled([...watches.values()].map(({ running }) => running));
    },
  };
}

const waitForAbort = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Null for a container without a port to forward from, of a compose app or of an earlier version. */
function appPorts({ Config: { Labels } }: ContainerDetail): Ports | null {
  const [forward, inner] = (Labels[labelNames.forward] ?? '').split(':').map(Number);
  return forward && inner ? { inner, forward, published: Number(Labels[labelNames.port]) } : null;
}

async function answersSoon(address: string, signal: AbortSignal): Promise<boolean> {
  for (const until = Date.now() + probeMs; !signal.aborted && Date.now() < until; ) {
    if (await staysOpen(address)) return true;
    await Bun.sleep(probeEveryMs);
  }
  return false;
}

const openMs = 300;

/** The engine may accept connections for a port where nobody listens; it then closes them. */
function staysOpen(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`http://${address}`);
  return new Promise((resolve) => {
    let timer: Timer | undefined;
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || 80 });
    const end = (isOpen: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(isOpen);
    };
    timer = setTimeout(() => end(!socket.connecting), openMs);
    socket.on('error', () => end(false)).on('close', () => end(false));
  });
}

type HelperDeps = Pick<DockerDeps, 'engine' | 'installation' | 'baseImage'>;

interface Ports {
  inner: number;
  published: number;
  forward: number;
}

const helperName = (instanceId: string) => `svc-port-${instanceId}`;
/** When the container started whose network the helper shares. */
const startLabel = 'svc.started_at';

let bundled: Promise<string> | null = null;

/** The search is the same as for apps without containers. */
function helperScript(): Promise<string> {
  bundled ??= Bun.build({
    entrypoints: [join(projectRoot, 'server/src/drivers/runtime/docker/port-helper.ts')],
    target: 'node',
    format: 'esm',
    minify: { whitespace: true, syntax: true },
  }).then(({ outputs: [output] }) => output?.text() ?? '');
  return bundled;
}

async function startHelper(
  { engine, installation, baseImage }: HelperDeps,
  instanceId: string,
  { Id, State }: ContainerDetail,
  { inner, forward }: Ports,
): Promise<void> {
  const memory = 96 * 1024 * 1024;
  const script = await helperScript();
  await engine.send('POST', '/containers/create', {
    query: { name: helperName(instanceId) },
    body: {
      Image: baseImage,
      Entrypoint: [],
      Cmd: ['node', '--input-type=module', '-e', script, '--', String(inner), String(forward)],
      User: '65534:65534',
      Labels: {
        [labelNames.installation]: installation,
        [labelNames.helper]: instanceId,
        [startLabel]: State.StartedAt,
      },
      HostConfig: {
        NetworkMode: `container:${Id}`,
        Init: true,
        ReadonlyRootfs: true,
        Memory: memory,
        MemorySwap: memory,
        PidsLimit: 32,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
      },
    },
  });
  await engine.send('POST', `/containers/${helperName(instanceId)}/start`);
}

const removeHelper = async ({ engine }: Pick<HelperDeps, 'engine'>, instanceId: string) =>
  void (await ignoreMissing(
    engine.send('DELETE', `/containers/${helperName(instanceId)}`, { query: { force: 1, v: 1 } }),
  ));

interface Found {
  isForwarded: boolean;
  unreachable?: string;
}

const lineBytesMax = 16 * 1024;

/** Until the helper ends, which it does by itself when the app listens on PORT. Resolves to whether it does. */
async function followHelper(
  { engine }: Pick<HelperDeps, 'engine'>,
  name: string,
  options: {
    signal: AbortSignal;
    /** Lines of the helper are in the log of the app already. */
    isKnown: boolean;
    log: LogSink;
    onFound(found: Found): boolean;
  },
): Promise<boolean> {
  const path = `/containers/${name}/logs`;
  let known = 0;
  let isOwn = false;
  const { signal } = options;
  const read = async (follow: number, onLine: (line: string) => void) => {
    const { body } = await engine.stream('GET', path, { query: { stdout: 1, follow }, signal });
    const lines = splitLines({ lineBytesMax, onLine });
    for await (const { bytes } of readFrames(body as unknown as AsyncIterable<Uint8Array>)) lines.take(bytes);
  };
  try {
    if (options.isKnown) await read(0, () => void known++);
    await read(1, (line) => {
      const { log, found } = JSON.parse(line) as { log?: string; found?: Found };
      if (log !== undefined && known <= 0) options.log('platform', log);
      known--;
      if (found) isOwn = options.onFound(found);
    });
  } catch (error) {
    if (!signal.aborted && !(error instanceof EngineError)) throw error;
  }
  return isOwn;
}
