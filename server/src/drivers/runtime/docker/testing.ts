import { mkdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../../../scripts/docker-base-image.ts';
import { type DockerEngine, startDockerEngine } from '../../../../../scripts/docker-engine.ts';
import { engineAddresses, startRegistry } from '../../../../../scripts/docker-swarm.ts';
import { temporaryFolder } from '../../database/testing.ts';
import { silentLog } from '../../testing.ts';
import type { IsolationWorld } from '../isolation-testing.ts';
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
    targets: async (victim) => ({
      hosts: [engine.address, ...(await addressesOf(engine, victim.id))],
      ports: [8080, await serveOnMachine(engine)],
    }),
    workDir: join(dataDir, 'work'),
    open: () => createDockerRuntime(optionsOf(dataDir)),
    sample: processSample,
    whenClosed: 'kept',
    givesUp: 'late',
    keepsImages: kind === 'spread',
    async close() {
      await registry?.stop();
      await engine.stop();
      await folder.remove();
    },
  };
}

/** Of the container, and of the engine's machine in its network and in the usual one. */
async function addressesOf({ docker }: DockerEngine, instanceId: string): Promise<string[]> {
  const inspect = async (...words: string[]) => (await docker('inspect', '--format', ...words)).trim();
  const own = '{{range .NetworkSettings.Networks}}{{.IPAddress}} {{.Gateway}} {{end}}';
  const usual = '{{range .IPAM.Config}}{{.Gateway}}{{end}}';
  const container = (await docker('ps', '-q', '--filter', `label=svc.instance=${instanceId}`)).trim();
  const gateway = await inspect(
    '{{range .IPAM.Config}}{{.Gateway}} {{end}}{{range .Containers}}{{.IPv4Address}} {{end}}',
    'docker_gwbridge',
  ).catch(() => '');
  const found = [await inspect(own, container), await inspect(usual, 'bridge'), gateway].join(' ');
  return found.split(' ').flatMap((address) => address.split('/')[0] || []);
}

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

/** Another machine, with a public address, a private one and that of the metadata of clouds. */
export async function startPeer({ ip }: DockerEngine) {
  const addresses = { publicUrl: '203.0.113.7', privateUrl: '10.254.7.2', metadataUrl: '169.254.169.254' };
  const code = "require('node:http').createServer((_, answer) => answer.end('peer')).listen(80)";
  const child = Bun.spawn(['setpriv', '--pdeathsig', 'KILL', 'unshare', '--net', 'node', '-e', code], {
    stdout: 'ignore',
    stderr: 'ignore',
  });
  const isApart = () => readlinkSync(`/proc/${child.pid}/ns/net`) !== readlinkSync('/proc/self/ns/net');
  while (!isApart()) await Bun.sleep(5);
  const within = (...words: string[]) => run('nsenter', `--net=/proc/${child.pid}/ns/net`, 'ip', ...words);
  await ip('link', 'add', 'peer', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(child.pid));
  await ip('addr', 'add', '10.254.7.1/24', 'dev', 'peer');
  await ip('link', 'set', 'peer', 'up');
  await within('link', 'set', 'eth0', 'up');
  await within('addr', 'add', `${addresses.privateUrl}/24`, 'dev', 'eth0');
  await within('route', 'add', 'default', 'via', '10.254.7.1');
  for (const address of [addresses.publicUrl, addresses.metadataUrl]) {
    await within('addr', 'add', `${address}/32`, 'dev', 'eth0');
    await ip('route', 'add', `${address}/32`, 'via', addresses.privateUrl);
  }
  const urls = Object.entries(addresses).map(([name, address]) => [name, `http://${address}/`]);
  return {
    ...(Object.fromEntries(urls) as typeof addresses),
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
      await ip('link', 'del', 'peer').catch(() => {});
    },
  };
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
