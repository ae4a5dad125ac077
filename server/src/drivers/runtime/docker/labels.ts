import { createHmac } from 'node:crypto';
import type { StartJob } from '../runtime.ts';
import type { Parts } from './parts.ts';
import { ownPlace } from './reason-against-image.ts';

/** By these everything of an app is found again, whichever copy of the server started it, and in whichever way. */
export const labelNames = {
  installation: 'svc.installation',
  app: 'svc.app',
  deployment: 'svc.deployment',
  instance: 'svc.instance',
  /** Of a compose app. */
  service: 'svc.service',
  /** On the container that answers: the port at which it is reached. */
  port: 'svc.port',
} as const;

export function labelsOfBuild(parts: Parts, job: { appId: string; deploymentId: string }) {
  return {
    [labelNames.installation]: parts.installation,
    [labelNames.app]: job.appId,
    [labelNames.deployment]: job.deploymentId,
  };
}

export function labelsOfInstance(
  parts: Parts,
  job: StartJob,
  own: { service: string; port: number | null },
): Record<string, string> {
  return {
    ...labelsOfBuild(parts, job),
    [labelNames.instance]: job.instanceId,
    [labelNames.service]: own.service,
    ...(own.port === null ? {} : { [labelNames.port]: String(own.port) }),
  };
}

export const instanceName = (instanceId: string) => `svc-${instanceId}`;

/**
 * Nobody answers at that place: an engine that looks there for a newer image is told so at once, and no registry hears of
 * it. The tag can not be guessed from what is shown: whoever could name an image could build from it, and so read it.
 */
export function imageName({ imageKey }: Pick<Parts, 'imageKey'>, job: { appId: string; buildId: string }) {
  const secret = createHmac('sha256', imageKey).update(job.buildId).digest('hex').slice(0, 48);
  return `${ownPlace}svc/${job.appId}:${secret}`;
}

export const filters = (given: Record<string, readonly string[]>) => ({ filters: JSON.stringify(given) });
export const labelled = (name: string, value: string) => filters({ label: [`${name}=${value}`] });
