import { createHmac } from 'node:crypto';
import type { StartJob } from '../runtime.ts';
import type { DockerDeps } from './docker-deps.ts';
import { imageRegistry } from './read-dockerfile.ts';

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
