import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { runProgram } from '../../../os/processes.ts';
import { findFreePort } from '../../process/network.ts';
import { processLimit, type RunJob, type StartJob } from '../../runtime.ts';
import {
  buildLabels,
  type ComposeArtifact,
  type DockerDeps,
  instanceLabels,
  instanceName,
  labelNames,
} from '../docker-deps.ts';
import { isMain, listAppInstances, listContainers, stopOtherDeployments } from '../instances.ts';
import { composeBridge, ensureServicesNetwork } from '../networks.ts';
import { removeInstance } from '../remove-instance.ts';
import { logConfig, shellWords } from '../start-instance.ts';
import { type ComposeApp, type ComposeService, interpolateAll, withoutReferences } from './compose-app.ts';

export const serviceNames = ({ app }: ComposeArtifact) => Object.keys(app.services);

export async function startCompose(
  deps: DockerDeps,
  job: StartJob,
  artifact: ComposeArtifact,
): Promise<number> {
  const existing = (await listContainers(deps.engine, job.instanceId)).find(isMain);
  if (existing) return Number(existing.Labels[labelNames.port]);
  const isExclusive = artifact.app.volumes.length > 0 && !job.isInReview;
  const over = isExclusive ? await stopOtherDeployments(deps, job) : () => {};
  try {
    const port = await findFreePort(() => false);
    const network = deps.swarmNode === null ? null : await ensureServicesNetwork(deps);
    await runTool(deps, job, createComposeFile(deps, job, { artifact, port, network }));
    return port;
  } finally {
    over();
  }
}

/**
 * A command in the main service, as `docker compose run` starts it: in the network of the app's services if they run, else with
 * the services that the main service depends on. Returns its container.
 */
export async function startComposeCommand(
  deps: DockerDeps,
  { runId, command, ...job }: RunJob,
  artifact: ComposeArtifact,
): Promise<string> {
  const { app } = artifact;
  const network = await findProjectNetwork(deps, job);
  const start = { ...job, instanceId: runId };
  const whole = createComposeFile(deps, start, { artifact, port: null, network: null });
  const required = network === null ? dependencies(app, app.main.service) : [];
  const services = [app.main.service, ...required].map((name) => {
    const service = whole.services[name];
    return [name, { ...service, labels: { ...service?.labels, [labelNames.run]: runId } }] as const;
  });
  const content = { ...whole, services: Object.fromEntries(services) };
  Object.assign(content.services[app.main.service] ?? {}, {
    entrypoint: [],
    command: withoutReferences(shellWords(command)),
    healthcheck: { disable: true },
    restart: 'no',
    ...(network === null ? {} : { depends_on: {} }),
  });
  if (network !== null) Object.assign(content, { networks: { default: { external: true, name: network } } });
  await runTool(deps, start, content);
  const found = await listContainers(deps.engine, runId);
  const container = found.find(({ Labels }) => Labels[labelNames.service] === app.main.service);
  if (!container) throw new Error('The container of the command was removed.');
  return container.Id;
}

/** With those of the dependencies. */
function dependencies(app: ComposeApp, name: string, found = new Set<string>()): string[] {
  for (const other of Object.keys(app.services[name]?.dependsOn ?? {})) {
    if (found.has(other)) continue;
    found.add(other);
    dependencies(app, other, found);
  }
  return [...found];
}

/** The network of the services of this deployment, or of the one before it. */
async function findProjectNetwork(
  deps: DockerDeps,
  { appId, deploymentId }: Pick<StartJob, 'appId' | 'deploymentId'>,
): Promise<string | null> {
  const running = (await listAppInstances(deps, appId)).filter(
    (container) => isMain(container) && container.State === 'running',
  );
  const found =
    running.find(({ Labels }) => Labels[labelNames.deployment] === deploymentId) ??
    running.find(({ Labels }) => !(labelNames.review in Labels));
  const project = found?.Labels['com.docker.compose.project'];
  return project === undefined ? null : `${project}_default`;
}

async function runTool(deps: DockerDeps, job: StartJob, content: object): Promise<void> {
  const folder = await mkdtemp(join(deps.scratchDir, 'compose-'));
  try {
    const file = join(folder, 'compose.json');
    await writeFile(file, JSON.stringify(content), { mode: 0o600 });
    await callTool(deps, job, { file, folder });
  } catch (error) {
    await removeInstance(deps, job.instanceId, { graceMs: 0, afterEnd: async () => {} }).catch(() => {});
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function callTool(
  { engine, path, composeTool, swarmNode }: DockerDeps,
  job: StartJob,
  { file, folder }: { file: string; folder: string },
): Promise<void> {
  const [program = '', ...words] = composeTool ?? [];
  const name = instanceName(job.instanceId);
  const args =
    swarmNode === null
      ? [
          '--project-name',
          name,
          '--file',
          file,
          '--project-directory',
          folder,
          'up',
          '--detach',
          '--no-build',
        ]
      : ['stack', 'deploy', '--resolve-image', 'never', '--compose-file', file, name];
  const { status, output } = await runProgram(program, [...words, ...args], {
    cwd: folder,
    ...(job.signal && { signal: job.signal }),
    // Without the server's variables, which the tool would interpolate into the file.
    env: { PATH: path, HOME: folder, DOCKER_HOST: engine.host, LC_ALL: 'C.UTF-8' },
  });
  if (status !== 0)
    throw new Error(
      `The compose app could not be started: ${output.split('\n').slice(-8).join(' ').slice(-1_500)}`,
    );
}

// Many public images start as root and then switch the user, which needs these capabilities.
const capabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'];
const restartsMax = 10;

/** Created from the accepted content, with limits, labels and one port; never the app's own file. */
function createComposeFile(
  deps: DockerDeps,
  job: StartJob,
  options: { artifact: ComposeArtifact; port: number | null; network: string | null },
) {
  const { app, images } = options.artifact;
  const share = Object.keys(app.services).length;
  const limits = { cpu: job.limits.cpu / share, memoryMb: Math.floor(job.limits.memoryMb / share) };
  const isSwarm = deps.swarmNode !== null;
  const services = Object.entries(app.services).map(([name, service]) => {
    const isMainService = name === app.main.service;
    const port = isMainService ? options.port : null;
    const labels = instanceLabels(deps, job, { service: name, port });
    const own = {
      image: images[name]?.[isSwarm ? 'image' : 'imageId'] ?? service.image,
      ...interpolatedFields(service, job, isMainService ? app.main.port : null),
      ...(service.workingDir === null ? {} : { working_dir: service.workingDir }),
      ...(service.user === null ? {} : { user: service.user }),
      expose: service.expose.map(String),
      volumes: service.volumes.map(({ volume, target, mode }) => `${volume}:${target}:${mode}`),
      labels,
      init: true,
      cap_drop: ['ALL'],
      cap_add: capabilities,
      logging: { driver: logConfig.Type, options: logConfig.Config },
    };
    const rest = isSwarm
      ? swarmFields(deps, { labels, limits, service, port, target: app.main.port })
      : containerFields(deps, { limits, service, port, target: app.main.port });
    return [name, { ...own, ...rest }] as const;
  });
  return withoutReferences({
    version: isSwarm ? '3.9' : '2.4',
    services: Object.fromEntries(services),
    networks:
      options.network === null
        ? { default: { driver_opts: composeBridge(deps, job) } }
        : // A Swarm knows the names of services only in its own kind of network, which leads nowhere here.
          { default: { internal: true }, outside: { external: true, name: options.network } },
    volumes: Object.fromEntries(app.volumes.map((name) => [name, composeVolume(deps, job, name)])),
  });
}

/** A build in review has volumes of its own, empty ones: those of the app are in use, and not its to change. */
function composeVolume(deps: DockerDeps, job: StartJob, name: string) {
  if (!job.isInReview) return { name: `svc-${job.appId}-${name}` };
  return {
    name: `svc-${job.instanceId}-${name}`,
    labels: { ...buildLabels(deps, job), [labelNames.instance]: job.instanceId },
  };
}

function interpolatedFields(
  service: ComposeService,
  job: StartJob,
  port: number | null,
): Record<string, unknown> {
  const { command, entrypoint, environment, healthcheck } = service;
  const fields = interpolateAll(
    {
      ...(command === null ? {} : { command }),
      ...(entrypoint === null ? {} : { entrypoint }),
      ...(healthcheck === null ? {} : { healthcheck }),
      environment,
    },
    job.env,
  );
  return {
    ...fields,
    environment:
      port === null
        ? fields.environment
        : { ...job.env, ...fields.environment, PORT: String(port), HOST: '0.0.0.0' },
  };
}

interface ServiceShape {
  limits: { cpu: number; memoryMb: number };
  service: ComposeService;
  port: number | null;
  target: number;
}

function containerFields({ publish }: DockerDeps, { limits, service, port, target }: ServiceShape) {
  const conditions = Object.entries(service.dependsOn).map(([name, condition]) => [name, { condition }]);
  return {
    depends_on: Object.fromEntries(conditions),
    mem_limit: `${limits.memoryMb}m`,
    memswap_limit: `${limits.memoryMb}m`,
    cpus: limits.cpu,
    pids_limit: processLimit(limits),
    security_opt: ['no-new-privileges:true'],
    restart: `on-failure:${restartsMax}`,
    ...(port === null ? {} : { ports: [`${publish.ip}:${port}:${target}`] }),
  };
}

function swarmFields(deps: DockerDeps, shape: ServiceShape & { labels: Record<string, string> }) {
  const { limits, port, target, labels } = shape;
  return {
    depends_on: Object.keys(shape.service.dependsOn),
    networks: ['default', 'outside'],
    deploy: {
      replicas: 1,
      labels,
      placement: { constraints: [`node.id==${deps.swarmNode}`] },
      resources: {
        limits: { memory: `${limits.memoryMb}M`, cpus: String(limits.cpu), pids: processLimit(limits) },
      },
      restart_policy: { condition: 'on-failure', delay: '1s', max_attempts: restartsMax },
      update_config: { order: 'start-first' },
    },
    ...(port === null ? {} : { ports: [{ target, published: port, protocol: 'tcp', mode: 'host' }] }),
  };
}

export async function findComposeTool({
  path,
  isSwarm,
}: {
  path: string;
  isSwarm: boolean;
}): Promise<readonly string[] | null> {
  const docker = findProgram('docker', path);
  if (isSwarm) return docker === null ? null : [docker];
  if (docker !== null) {
    const { status } = await runProgram(docker, ['compose', 'version'], { env: { PATH: path, HOME: '/' } });
    if (status === 0) return [docker, 'compose'];
  }
  const own = findProgram('docker-compose', path);
  return own === null ? null : [own];
}

function findProgram(name: string, path: string): string | null {
  return (
    path
      .split(delimiter)
      .map((folder) => join(folder, name))
      .find(existsSync) ?? null
  );
}
