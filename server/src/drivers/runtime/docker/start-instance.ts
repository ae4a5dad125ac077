import { findFreePort } from '../process/network.ts';
import { processLimit, type StartJob, serviceVariables } from '../runtime.ts';
import {
  type DockerDeps,
  type ImageArtifact,
  instanceLabels,
  instanceName,
  labelNames,
} from './docker-deps.ts';
import { type ContainerDetail, EngineError, ignoreMissing, type ServiceSummary } from './engine.ts';
import { ensureNetwork, ensureServicesNetwork, extraHosts, machineName } from './networks.ts';
import {
  choosePublishedPort,
  createSpreadNetwork,
  isSpread,
  placementConstraints,
  waitUntilPlaced,
} from './spread.ts';

/** About two minutes with the engine's back-off, which starts at 0.1 s and doubles. */
const containerRestartsMax = 10;
const portTriesMax = 5;

/** Returns the published port. It is chosen here, because the engine would choose another one on each restart. */
export async function startContainer(
  deps: DockerDeps,
  job: StartJob,
  artifact: ImageArtifact,
): Promise<number> {
  const { engine } = deps;
  const name = instanceName(job.instanceId);
  for (let attempt = 1; ; attempt++) {
    const port = await choosePort(job);
    const forward = port > 0 ? await findFreePort((taken) => taken === port) : 0;
    try {
      await engine.send('POST', '/containers/create', {
        query: { name },
        body: await containerSpec(deps, job, { artifact, port, forward }),
      });
    } catch (error) {
      if (!(error instanceof EngineError && error.status === 409)) throw error;
      return startExisting(deps, name);
    }
    try {
      await engine.send('POST', `/containers/${name}/start`);
      return port;
    } catch (error) {
      await ignoreMissing(engine.send('DELETE', `/containers/${name}`, { query: { force: 1, v: 1 } }));
      if (!isPortInUse(error) || attempt >= portTriesMax) throw error;
    }
  }
}

/** 0 for a process beside the app, which has none. */
async function choosePort({ command }: StartJob): Promise<number> {
  return command === undefined ? findFreePort(() => false) : 0;
}

/** The image decides what runs, and where, if a Dockerfile was built without a command. */
function runSettings({ run }: ImageArtifact, { command = run?.command }: StartJob) {
  const defaults = run && { dir: run.dir, user: run.user };
  return { command: command === undefined ? null : shellWords(command), defaults };
}

/** Programs of installed packages are found by name, as in the build and in the process runtime. */
export function shellWords(command: string): string[] {
  return ['/bin/sh', '-c', 'export PATH="$PATH:$PWD/node_modules/.bin" && exec /bin/sh -c "$0"', command];
}

async function startExisting({ engine }: DockerDeps, name: string): Promise<number> {
  const { Config, State } = await engine.json<ContainerDetail>('GET', `/containers/${name}/json`);
  if (!State.Running && !State.Restarting) await engine.send('POST', `/containers/${name}/start`);
  return Number(Config.Labels[labelNames.port]);
}

function isPortInUse(error: unknown): boolean {
  return error instanceof Error && /already allocated|already in use/.test(error.message);
}

async function containerSpec(
  deps: DockerDeps,
  job: StartJob,
  { artifact, port, forward }: { artifact: ImageArtifact; port: number; forward: number },
) {
  const { command, defaults } = runSettings(artifact, job);
  const published = port > 0 ? [[artifact.port, port] as const, [forward, forward] as const] : [];
  const ports = <T>(value: (outer: number) => T) =>
    Object.fromEntries(published.map(([inner, outer]) => [`${inner}/tcp`, value(outer)]));
  return {
    Image: artifact.imageId,
    Env: containerVariables(job.env, artifact.port),
    Labels: {
      ...instanceLabels(deps, job, { service: 'app', port }),
      ...(port > 0 ? { [labelNames.forward]: `${forward}:${artifact.port}` } : {}),
    },
    ...(port > 0 ? { ExposedPorts: ports(() => ({})) } : {}),
    ...(command ? { Cmd: command, Entrypoint: [] } : {}),
    ...(defaults ? { WorkingDir: defaults.dir, User: defaults.user } : {}),
    HostConfig: {
      ...(await hostConfig(deps, job)),
      RestartPolicy: { Name: 'on-failure', MaximumRetryCount: containerRestartsMax },
      ...(port > 0
        ? { PortBindings: ports((outer) => [{ HostIp: deps.publish.ip, HostPort: String(outer) }]) }
        : {}),
    },
  };
}

export async function hostConfig(deps: DockerDeps, { limits }: Pick<StartJob, 'limits'>) {
  const memory = limits.memoryMb * 1024 * 1024;
  return {
    Init: true,
    Memory: memory,
    MemorySwap: memory,
    NanoCpus: Math.round(limits.cpu * 1e9),
    PidsLimit: processLimit(limits),
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges'],
    LogConfig: logConfig,
    NetworkMode: await ensureNetwork(deps, 'apps'),
    ExtraHosts: extraHosts,
  };
}

export const logConfig = { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '2' } };

export function containerVariables(env: Readonly<Record<string, string>>, port: number): string[] {
  const all = { NODE_ENV: 'production', ...env, PORT: String(port), HOST: '0.0.0.0' };
  return Object.entries(all).map(([name, value]) => `${name}=${value}`);
}

const second = 1e9;
const restartsMax = 10;

/** Published with `mode=host`: the routing mesh does not work on every kernel and adds a hop. */
export async function startService(
  deps: DockerDeps,
  job: StartJob,
  artifact: ImageArtifact,
): Promise<number> {
  const { engine } = deps;
  if (isSpread(deps, artifact)) return startSpread(deps, job, artifact);
  // A Swarm reports a missing image only later, and keeps trying.
  await engine.json('GET', `/images/${artifact.imageId}/json`);
  const port = await choosePort(job);
  const network = await ensureServicesNetwork(deps);
  const constraints = [`node.id==${deps.swarmNode}`];
  return createService(deps, job, serviceSpec(deps, job, { artifact, port, network, constraints }), port);
}

/** One after the other: the node of one instance depends on those of the others. */
async function startSpread(deps: DockerDeps, job: StartJob, artifact: ImageArtifact): Promise<number> {
  const before = placing.get(deps.engine) ?? Promise.resolve();
  const next = before
    .catch(() => {})
    .then(async () => {
      const port = job.command === undefined ? await choosePublishedPort(deps) : 0;
      const network = await createSpreadNetwork(deps, job);
      const constraints = await placementConstraints(deps, job);
      const spec = serviceSpec(deps, job, { artifact, port, network, constraints });
      const labels = { ...spec.Labels, [labelNames.spread]: 'true' };
      const mode = { ...spec.EndpointSpec, Mode: 'dnsrr' };
      const created = await createService(deps, job, { ...spec, Labels: labels, EndpointSpec: mode }, port);
      await waitUntilPlaced(deps, spec.Name);
      return created;
    });
  placing.set(deps.engine, next);
  return next;
}

const placing = new WeakMap<object, Promise<unknown>>();

async function createService(
  { engine }: DockerDeps,
  job: StartJob,
  body: ReturnType<typeof serviceSpec>,
  port: number,
): Promise<number> {
  try {
    await engine.send('POST', '/services/create', { body, upTo: '1.44' });
    return port;
  } catch (error) {
    if (!(error instanceof EngineError && error.status === 409)) throw error;
    const name = instanceName(job.instanceId);
    const { Spec } = await engine.json<ServiceSummary>('GET', `/services/${name}`);
    return Number(Spec.Labels[labelNames.port]);
  }
}

function serviceSpec(
  deps: DockerDeps,
  job: StartJob,
  {
    artifact,
    port,
    network,
    constraints,
  }: { artifact: ImageArtifact; port: number; network: string; constraints: string[] },
) {
  const { command, defaults } = runSettings(artifact, job);
  const labels = instanceLabels(deps, job, { service: 'app', port });
  return {
    Name: instanceName(job.instanceId),
    Labels: labels,
    TaskTemplate: {
      ContainerSpec: {
        Image: artifact.image,
        Env: containerVariables(job.env, artifact.port),
        Labels: labels,
        ...(command ? { Command: command } : {}),
        ...(defaults ? { Dir: defaults.dir, User: defaults.user } : {}),
        Init: true,
        CapabilityDrop: ['ALL'],
        Privileges: { NoNewPrivileges: true },
        StopGracePeriod: 10 * second,
      },
      Resources: {
        Limits: {
          MemoryBytes: job.limits.memoryMb * 1024 * 1024,
          NanoCPUs: Math.round(job.limits.cpu * 1e9),
          Pids: processLimit(job.limits),
        },
      },
      RestartPolicy: { Condition: 'on-failure', Delay: second, MaxAttempts: restartsMax },
      Networks: [{ Target: network }],
      Placement: { Constraints: constraints },
      LogDriver: { Name: 'json-file', Options: { 'max-size': '10m', 'max-file': '2' } },
    },
    Mode: { Replicated: { Replicas: 1 } },
    UpdateConfig: { Parallelism: 1, Order: 'start-first', FailureAction: 'rollback' },
    EndpointSpec: {
      Mode: 'vip',
      Ports:
        port > 0
          ? [{ Protocol: 'tcp', TargetPort: artifact.port, PublishedPort: port, PublishMode: 'host' }]
          : [],
    },
  };
}

const loopback = /^([a-z]+:\/\/(?:[^@/]*@)?)(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?=[:/?]|$)(?![^/]*@)/i;

export function toContainerUrls(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      name,
      serviceVariables.includes(name) ? value.replace(loopback, `$1${machineName}`) : value,
    ]),
  );
}
