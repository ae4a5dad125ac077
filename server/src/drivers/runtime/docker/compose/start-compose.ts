import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { runProgram } from '../../../os/processes.ts';
import { findFreePort } from '../../process/ports.ts';
import type { StartJob } from '../../runtime.ts';
import type { ComposeArtifact } from '../artifacts.ts';
import type { DockerDeps } from '../docker-deps.ts';
import { isMain, listContainers, stopOtherDeployments } from '../instances.ts';
import { instanceLabels, instanceName, labelNames } from '../labels.ts';
import { composeBridge, ensureServicesNetwork } from '../networks.ts';
import { removeInstance } from '../remove-instance.ts';
import { logConfig, pidsMax } from '../start-instance.ts';
import { type ComposeService, interpolateAll, withoutReferences } from './compose-app.ts';

export const serviceNames = ({ app }: ComposeArtifact) => Object.keys(app.services);

export async function startCompose(
  deps: DockerDeps,
  job: StartJob,
  artifact: ComposeArtifact,
): Promise<number> {
  const existing = (await listContainers(deps.engine, job.instanceId)).find(isMain);
  if (existing) return Number(existing.Labels[labelNames.port]);
  if (artifact.app.volumes.length > 0) await stopOtherDeployments(deps, job);
  const port = await findFreePort(() => false);
  const folder = await mkdtemp(join(deps.scratchDir, 'compose-'));
  try {
    const file = join(folder, 'compose.json');
    const network = deps.swarmNode === null ? null : await ensureServicesNetwork(deps);
    const content = createComposeFile(deps, job, { artifact, port, network });
    await writeFile(file, JSON.stringify(content), { mode: 0o600 });
    await runTool(deps, job, { file, folder });
    return port;
  } catch (error) {
    await removeInstance(deps, job.instanceId, { graceMs: 0, afterEnd: async () => {} }).catch(() => {});
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runTool(
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
  options: { artifact: ComposeArtifact; port: number; network: string | null },
) {
  const { app, images } = options.artifact;
  const share = Object.keys(app.services).length;
  const limits = { cpu: job.limits.cpu / share, memoryMb: Math.floor(job.limits.memoryMb / share) };
  const isSwarm = deps.swarmNode !== null;
  const services = Object.entries(app.services).map(([name, service]) => {
    const port = name === app.main.service ? options.port : null;
    const labels = instanceLabels(deps, job, { service: name, port });
    const own = {
      image: images[name]?.[isSwarm ? 'image' : 'imageId'] ?? service.image,
      ...interpolatedFields(service, job, port === null ? null : app.main.port),
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
    return [name, { ...own, ...rest }];
  });
  return withoutReferences({
    version: isSwarm ? '3.9' : '2.4',
    services: Object.fromEntries(services),
    networks:
      options.network === null
        ? { default: { driver_opts: composeBridge(deps, job) } }
        : // A Swarm knows the names of services only in its own kind of network, which leads nowhere here.
          { default: { internal: true }, outside: { external: true, name: options.network } },
    volumes: Object.fromEntries(app.volumes.map((name) => [name, { name: `svc-${job.appId}-${name}` }])),
  });
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
    pids_limit: pidsMax,
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
        limits: { memory: `${limits.memoryMb}M`, cpus: String(limits.cpu), pids: pidsMax },
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
