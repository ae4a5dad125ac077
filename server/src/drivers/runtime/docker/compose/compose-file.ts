import type { StartJob } from '../../runtime.ts';
import type { ComposeArtifact } from '../artifacts.ts';
import { labelsOfInstance } from '../labels.ts';
import type { Parts } from '../parts.ts';
import { LogConfig, pidsMax } from '../start-container.ts';
import type { ComposeService } from './compose-app.ts';
import { interpolateAll, withoutReferences } from './interpolate.ts';

// Images of others begin as root and then become somebody else, which takes these of what the engine would give.
const capabilities = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'];
const restartsMax = 10;

/** What the tool is given: made of what was allowed, with limits, labels and the one port. Never the app's own text. */
export function composeFileOf(
  parts: Parts,
  job: StartJob,
  given: { artifact: ComposeArtifact; port: number },
) {
  const { app, images } = given.artifact;
  const share = Object.keys(app.services).length;
  const limits = { cpu: job.limits.cpu / share, memoryMb: Math.floor(job.limits.memoryMb / share) };
  const isSwarm = parts.swarmNode !== null;
  const services = Object.entries(app.services).map(([name, service]) => {
    const port = name === app.main.service ? given.port : null;
    const labels = labelsOfInstance(parts, job, { service: name, port });
    const own = {
      image: images[name]?.[isSwarm ? 'image' : 'imageId'] ?? service.image,
      ...toldOf(service, job, port === null ? null : app.main.port),
      ...(service.workingDir === null ? {} : { working_dir: service.workingDir }),
      ...(service.user === null ? {} : { user: service.user }),
      expose: service.expose.map(String),
      volumes: service.volumes.map(({ volume, target, mode }) => `${volume}:${target}:${mode}`),
      labels,
      init: true,
      cap_drop: ['ALL'],
      cap_add: capabilities,
      logging: { driver: LogConfig.Type, options: LogConfig.Config },
    };
    const rest = isSwarm
      ? stackOf(parts, { labels, limits, service, port, target: app.main.port })
      : containerOf(parts, { limits, service, port, target: app.main.port });
    return [name, { ...own, ...rest }];
  });
  return withoutReferences({
    version: isSwarm ? '3.9' : '2.4',
    services: Object.fromEntries(services),
    volumes: Object.fromEntries(app.volumes.map((name) => [name, { name: `svc-${job.appId}-${name}` }])),
  });
}

/** With the app's variables as they are now; all of them are only for the service that answers. */
function toldOf(service: ComposeService, job: StartJob, port: number | null): Record<string, unknown> {
  const { command, entrypoint, environment, healthcheck } = service;
  const told = interpolateAll(
    {
      ...(command === null ? {} : { command }),
      ...(entrypoint === null ? {} : { entrypoint }),
      ...(healthcheck === null ? {} : { healthcheck }),
      environment,
    },
    job.env,
  );
  return {
    ...told,
    environment:
      port === null
        ? told.environment
        : { ...job.env, ...told.environment, PORT: String(port), HOST: '0.0.0.0' },
  };
}

interface Shaped {
  limits: { cpu: number; memoryMb: number };
  service: ComposeService;
  port: number | null;
  target: number;
}

function containerOf({ publish }: Parts, { limits, service, port, target }: Shaped) {
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

function stackOf(parts: Parts, wish: Shaped & { labels: Record<string, string> }) {
  const { limits, port, target, labels } = wish;
  return {
    depends_on: Object.keys(wish.service.dependsOn),
    deploy: {
      replicas: 1,
      labels,
      placement: { constraints: [`node.id==${parts.swarmNode}`] },
      resources: {
        limits: { memory: `${limits.memoryMb}M`, cpus: String(limits.cpu), pids: pidsMax },
      },
      restart_policy: { condition: 'on-failure', delay: '1s', max_attempts: restartsMax },
      update_config: { order: 'start-first' },
    },
    ...(port === null ? {} : { ports: [{ target, published: port, protocol: 'tcp', mode: 'host' }] }),
  };
}
