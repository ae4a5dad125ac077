import { freePort } from '../process/free-port.ts';
import type { StartJob } from '../runtime.ts';
import { appsNetwork } from './apps-network.ts';
import type { ImageArtifact } from './artifacts.ts';
import { EngineError, unlessGone } from './engine.ts';
import type { ContainerDetail } from './engine-shapes.ts';
import { instanceName, labelNames, labelsOfInstance } from './labels.ts';
import type { Parts } from './parts.ts';

export const pidsMax = 1_024;
/** With the engine's own back-off, from 0.1 s on and twice as long each time, that is some two minutes. */
const restartsMax = 10;
const portTriesMax = 5;

/** The published port: chosen here and kept over restarts, where the engine would take another each time. */
export async function startContainer(parts: Parts, job: StartJob, artifact: ImageArtifact): Promise<number> {
  const { engine } = parts;
  const name = instanceName(job.instanceId);
  for (let attempt = 1; ; attempt++) {
    const port = await freePort(() => false);
    try {
      await engine.tell('POST', '/containers/create', {
        query: { name },
        body: await specOf(parts, job, { artifact, port }),
      });
    } catch (error) {
      // It is there: by a call before this one whose answer nobody heard.
      if (!(error instanceof EngineError && error.status === 409)) throw error;
      return startAgain(parts, name);
    }
    try {
      await engine.tell('POST', `/containers/${name}/start`);
      return port;
    } catch (error) {
      await unlessGone(engine.tell('DELETE', `/containers/${name}`, { query: { force: 1, v: 1 } }));
      if (!isPortTaken(error) || attempt >= portTriesMax) throw error;
    }
  }
}

async function startAgain({ engine }: Parts, name: string): Promise<number> {
  const { Config, State } = await engine.json<ContainerDetail>('GET', `/containers/${name}/json`);
  if (!State.Running && !State.Restarting) await engine.tell('POST', `/containers/${name}/start`);
  return Number(Config.Labels[labelNames.port]);
}

export function isPortTaken(error: unknown): boolean {
  return error instanceof Error && /already allocated|already in use/.test(error.message);
}

async function specOf(
  parts: Parts,
  job: StartJob,
  { artifact, port }: { artifact: ImageArtifact; port: number },
) {
  const { run, imageId } = artifact;
  const inner = `${artifact.port}/tcp`;
  const memory = job.limits.memoryMb * 1024 * 1024;
  return {
    Image: imageId,
    Env: environmentOf(job.env, artifact.port),
    Labels: labelsOfInstance(parts, job, { service: 'app', port }),
    ExposedPorts: { [inner]: {} },
    ...(run
      ? { Cmd: ['/bin/sh', '-c', run.command], Entrypoint: [], WorkingDir: run.dir, User: run.user }
      : {}),
    HostConfig: {
      // Hands signals on and buries the dead, as the first process of a machine does.
      Init: true,
      Memory: memory,
      MemorySwap: memory,
      NanoCpus: Math.round(job.limits.cpu * 1e9),
      PidsLimit: pidsMax,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      RestartPolicy: { Name: 'on-failure', MaximumRetryCount: restartsMax },
      LogConfig,
      NetworkMode: await appsNetwork(parts),
      ExtraHosts: ['host.docker.internal:host-gateway'],
      PortBindings: { [inner]: [{ HostIp: parts.publish.ip, HostPort: String(port) }] },
    },
  };
}

/** Read by the server and kept there: here it is only to bridge the time until it is read. */
export const LogConfig = { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '2' } };

export function environmentOf(env: Readonly<Record<string, string>>, port: number): string[] {
  const all = { NODE_ENV: 'production', ...env, PORT: String(port), HOST: '0.0.0.0' };
  return Object.entries(all).map(([name, value]) => `${name}=${value}`);
}
