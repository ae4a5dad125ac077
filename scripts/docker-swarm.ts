import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DockerEngine, hasDockerEngine, startDockerEngine } from './docker-engine.ts';
import { patientMs } from './patience.ts';

const registryProgram = '/usr/bin/docker-registry';
export const hasSwarm = hasDockerEngine && existsSync(registryProgram);

export interface Swarm {
  manager: DockerEngine;
  worker: DockerEngine;
  registry: string;
  /** As if somebody pulled its network cable. */
  cutWorker(): Promise<void>;
  stop(): Promise<void>;
}

/** The addresses of engines; see `docker-engine.ts`. */
export const engineAddresses = '198.18.0.0/16';

/** A Swarm of two engines, each with a network of its own, and Debian's registry. */
export async function startSwarm(folder: string): Promise<Swarm> {
  const start = (name: string) => startDockerEngine(join(folder, name), { registries: engineAddresses });
  const started = await Promise.allSettled([start('manager'), start('worker')]);
  const engines = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const [manager, worker] = engines;
  const stops: (() => Promise<unknown>)[] = engines.map((engine) => engine.stop);
  const stop = async () => void (await Promise.allSettled(stops.reverse().map((each) => each())));
  try {
    if (!manager || !worker) throw started.find((each) => each.status === 'rejected')?.reason;
    for (const { gateway } of engines)
      writeFileSync(`/proc/sys/net/ipv4/conf/${gateway.link}/forwarding`, '1\n');
    const registry = await startRegistry(join(folder, 'registry'), manager.gateway.address);
    stops.push(registry.stop);
    await manager.docker('swarm', 'init', '--advertise-addr', manager.address);
    const token = (await manager.docker('swarm', 'join-token', '-q', 'worker')).trim();
    const joining = ['swarm', 'join', '--token', token, '--advertise-addr', worker.address];
    await worker.docker(...joining, `${manager.address}:2377`);
    return {
      manager,
      worker,
      registry: registry.name,
      cutWorker: async () => void (await worker.ip('link', 'set', 'eth0', 'down')),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

export async function startRegistry(folder: string, address: string) {
  mkdirSync(folder, { recursive: true });
  const probe = Bun.serve({ port: 0, hostname: address, fetch: () => new Response() });
  const { port } = probe;
  await probe.stop(true);
  const name = `${address}:${port}`;
  const config = join(folder, 'config.yml');
  writeFileSync(
    config,
    `version: 0.1\nlog: { level: error }\nstorage: { filesystem: { rootdirectory: ${folder}/data } }\nhttp: { addr: "${name}" }\n`,
  );
  const child = Bun.spawn(['setpriv', '--pdeathsig', 'KILL', registryProgram, 'serve', config], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: Bun.file(join(folder, 'log')),
  });
  for (const deadline = Date.now() + patientMs(20_000); ; await Bun.sleep(50)) {
    if ((await fetch(`http://${name}/v2/`).catch(() => null))?.ok) break;
    if (Date.now() > deadline || child.exitCode !== null)
      throw new Error(`docker-registry did not start: ${await Bun.file(join(folder, 'log')).text()}`);
  }
  return {
    name,
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}
