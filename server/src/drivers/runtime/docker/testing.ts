import { afterAll, beforeAll } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../../../scripts/docker-base-image.ts';
import { type DockerEngine, startDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { engineAddresses, startRegistry } from '../../../../../scripts/docker-swarm.ts';
import { temporaryFolder } from '../../database/testing.ts';
import { silentLog } from '../../testing.ts';
import type { IsolationWorld } from '../attacks-testing.ts';
import { closedPeers, peerAddresses, startPeer } from '../network-testing.ts';
import { readBaseEnvironment } from '../process/environment.ts';
import { processSample } from '../process/testing.ts';
import type { Runtime } from '../runtime.ts';
import { type Bench, openBench } from '../testing.ts';
import { createDockerRuntime, type DockerRuntimeOptions } from './docker-runtime.ts';

export interface DockerWorld extends IsolationWorld {
  engine: DockerEngine;
  optionsOf(dataDir: string): DockerRuntimeOptions;
  /** Returns the port. */
  servesOnMachine(): Promise<number>;
}

/** `spread`: a Swarm whose nodes get images from a registry. */
export async function dockerWorld(kind: 'single' | 'swarm' | 'spread'): Promise<DockerWorld> {
  const folder = temporaryFolder();
  const engine = await startDockerEngine(join(folder.path, 'engine'), {
    swarm: kind !== 'single',
    registries: engineAddresses,
  });
  const registry =
    kind === 'spread' ? await startRegistry(join(folder.path, 'registry'), engine.gateway.address) : null;
  if (registry) await pushBaseImage(engine, registry.name);
  const peer = await startPeer(engine.ip);
  const dataDir = join(folder.path, 'data');
  mkdirSync(dataDir);
  const optionsOf = (of: string): DockerRuntimeOptions => ({
    host: engine.host,
    baseImage: engine.baseImage,
    address: engine.address,
    network: null,
    swarm: 'trusted-network' as const,
    registry: registry?.name ?? null,
    imageKey: () => 'of-a-test',
    dataDir: of,
    installation: 'a-test',
    log: silentLog,
    isolation: { use: 'required', egress: 'public' },
    baseEnvironment: readBaseEnvironment({ PATH: process.env.PATH }),
  });
  return {
    engine,
    dataDir,
    optionsOf,
    servesOnMachine: () => serveOnMachine(engine),
    listensAt: ['0.0.0.0'],
    outside: [[], engine.enter],
    sockets: [engine.host.replace('unix://', '')],
    async victimFiles({ instance }) {
      const pid = await engine.docker(
        'inspect',
        '--format',
        '{{.State.Pid}}',
        await containerOf(engine, instance.id),
      );
      return [`/proc/${pid.trim()}/root/app/private.txt`];
    },
    peers: closedPeers,
    targets: async (victim) => ({
      hosts: [engine.address, ...(await addressesOf(engine, victim.id))],
      ports: [await serveOnMachine(engine)],
      appPorts: [8080],
    }),
    workDir: join(dataDir, 'work'),
    open: () => createDockerRuntime(optionsOf(dataDir)),
    sample: processSample,
    whenClosed: 'kept',
    givesUp: 'late',
    keepsImages: kind === 'spread',
    async close() {
      await peer.stop();
      await registry?.stop();
      await engine.stop();
      await folder.remove();
    },
  };
}

/** The engine compresses its large layer once instead of in each of the first builds, which run at the same time. */
async function pushBaseImage({ docker, baseImage }: DockerEngine, registry: string): Promise<void> {
  const name = `${registry}/base:1`;
  await docker('tag', baseImage, name);
  await docker('push', name);
  await docker('rmi', name);
}

/** One engine for several groups of tests. */
export function useDockerWorld(kind: Parameters<typeof dockerWorld>[0]): () => Promise<DockerWorld> {
  let world: DockerWorld | undefined;
  beforeAll(async () => {
    world = await dockerWorld(kind);
  });
  afterAll(async () => await world?.close());
  return async () => {
    if (!world) throw new Error('The engine has not started.');
    return { ...world, close: async () => {} };
  };
}

/** Of the container, and of the engine's machine in its network and in the usual one. */
async function addressesOf(engine: DockerEngine, instanceId: string): Promise<string[]> {
  const { docker } = engine;
  const inspect = async (...words: string[]) => (await docker('inspect', '--format', ...words)).trim();
  const own = '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{.Gateway}} {{end}}';
  const usual = '{{range .IPAM.Config}}{{.Gateway}}{{end}}';
  const gateway = await inspect(
    '{{range .IPAM.Config}}{{.Gateway}} {{end}}{{range .Containers}}{{.IPv4Address}} {{end}}',
    'docker_gwbridge',
  ).catch(() => '');
  const found = [
    await inspect(own, await containerOf(engine, instanceId)),
    await inspect(usual, 'bridge'),
    gateway,
  ].join(' ');
  return found.split(' ').flatMap((address) => address.split('/')[0] || []);
}

const containerOf = async ({ docker }: DockerEngine, instanceId: string) =>
  (await docker('ps', '-q', '--filter', `label=svc.instance=${instanceId}`)).trim();

const machinePort = 17_071;

/** A service of the engine's machine, which other machines can use. */
async function serveOnMachine({ docker, baseImage, address }: DockerEngine): Promise<number> {
  const code = `require('node:http').createServer((_, answer) => answer.end('reached')).listen(${machinePort})`;
  const name = 'of-the-machine';
  if ((await docker('ps', '-q', '--filter', `name=${name}`)) === '')
    await docker('run', '-d', '--name', name, '--network', 'host', baseImage, 'node', '-e', code);
  while (!(await fetch(`http://${address}:${machinePort}`).catch(() => null))) await Bun.sleep(20);
  return machinePort;
}

/** With an installation and a data dir of its own. */
export async function withBench(
  world: DockerWorld,
  options: Partial<DockerRuntimeOptions>,
  act: (bench: Bench, reopen: () => Promise<Runtime>) => Promise<void>,
): Promise<void> {
  const dataDir = join(world.dataDir, crypto.randomUUID());
  const open = () => createDockerRuntime({ ...world.optionsOf(dataDir), installation: dataDir, ...options });
  const bench = openBench(world, await open());
  try {
    await act(bench, open);
  } finally {
    for (const instance of await bench.runtime.list()) await bench.runtime.stop(instance, { graceMs: 0 });
    await bench.runtime.close();
  }
}

/**
 * When a network is created, the engine takes these jumps out and adds them again: here they are out for the whole time of an
 * attack. Returns what an app or a build reached.
 */
export async function attackWithoutEngineRules(world: DockerWorld): Promise<string[]> {
  const [enter = '', ...inside] = world.engine.enter;
  const iptables = (...words: string[]) => run(enter, ...inside, 'iptables', '-w', ...words);
  const jumps = ['DOCKER-USER', 'DOCKER-ISOLATION-STAGE-1'];
  let reached: string[] = [];
  await withBench(world, {}, async (bench) => {
    const victim = await bench.app('web').run();
    const found = await world.targets?.(victim);
    const ports = [Number(victim.address.split(':').at(-1)), ...(found?.appPorts ?? [])];
    const targets = (found?.hosts ?? []).flatMap((host) => ports.map((port) => ({ host, port })));
    for (const host of [peerAddresses.metadata, peerAddresses.private]) targets.push({ host, port: 80 });
    // It is open, so that the attack is known to work.
    targets.push({ host: peerAddresses.public, port: 80 });
    // The network of builds exists, so that none is created below.
    await bench.app('web').build();
    const app = bench.app('web');
    app.sample.files['attack.js'] = `const net = require('node:net');
      for (const target of ${JSON.stringify(targets)}) {
        const socket = net.connect(target, () => { console.log('reached ' + target.host + ':' + target.port); socket.destroy(); });
        socket.on('error', () => {});
      }
      setTimeout(() => { console.log('done'); process.exit(0); }, ${attackMs});`;
    app.sample.plan.buildCommand = 'node attack.js';
    app.sample.plan.startCommand = 'node attack.js; sleep 100';
    try {
      for (const jump of jumps) await iptables('-D', 'FORWARD', '-j', jump);
      await app.start(await app.build());
      await bench.until(() => app.lines('stdout').filter((line) => line === 'done').length === 2);
      for (const jump of jumps)
        if (
          await iptables('-C', 'FORWARD', '-j', jump).then(
            () => true,
            () => false,
          )
        )
          throw new Error('The engine is back.');
    } finally {
      for (const jump of jumps.toReversed()) await iptables('-I', 'FORWARD', '-j', jump);
    }
    reached = app.lines('stdout').filter((line) => line.startsWith('reached'));
  });
  return reached;
}

const attackMs = 3_000;
