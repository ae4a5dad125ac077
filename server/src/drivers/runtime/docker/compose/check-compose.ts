import { lstat, readFile, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { parse } from 'yaml';
import { BuildError, type BuildJob, type Built } from '../../runtime.ts';
import { buildFromDockerfile, publicDigest } from '../build-source.ts';
import { type ComposeArtifact, type DockerDeps, imageName } from '../docker-deps.ts';
import { checkService, isRecord, type RawService } from './check-service.ts';
import { type ComposeApp, ComposeError, type ComposeService } from './compose-app.ts';

const servicesMax = 10;
const textMax = 256 * 1024;
const namePattern = /^[a-z0-9][a-z0-9_-]{0,29}$/;

export function checkCompose(text: string, variables: Readonly<Record<string, string>>): ComposeApp {
  const top = parseYaml(text);
  for (const key of Object.keys(top)) {
    if (['version', 'name', 'services', 'volumes'].includes(key) || key.startsWith('x-')) continue;
    throw new ComposeError(null, key, topReasons[key] ?? 'is not supported');
  }
  const volumes = checkVolumes(top.volumes);
  if (!isRecord(top.services) || Object.keys(top.services).length === 0)
    throw new ComposeError(null, 'services', 'is empty');
  const entries = Object.entries(top.services);
  if (entries.length > servicesMax) throw new ComposeError(null, 'services', `are more than ${servicesMax}`);
  const services: Record<string, ComposeService> = {};
  for (const [name, value] of entries) {
    if (!namePattern.test(name))
      throw new ComposeError(
        name.slice(0, 40),
        null,
        'has an invalid name (a-z, 0-9, - and _, at most 30 characters)',
      );
    if (!isRecord(value)) throw new ComposeError(name, null, 'is empty');
    services[name] = checkService(name, value, { volumes, variables });
  }
  for (const [name, { dependsOn }] of Object.entries(services)) {
    const missing = Object.keys(dependsOn).find((other) => !(other in services));
    if (missing !== undefined)
      throw new ComposeError(name, 'depends_on', `names ${missing}, which does not exist`);
  }
  return { services, volumes, main: findMainService(services, top.services) };
}

const topReasons: Record<string, string> = {
  networks: 'is not allowed: the services of an app share one private network',
  include: 'is not allowed: everything must be in this file',
  configs: 'is not allowed: put files into an image',
  secrets: 'is not allowed: set them with `svc env set`, and use them as variables',
};

function parseYaml(text: string): Record<string, unknown> {
  if (text.length > textMax) throw new ComposeError(null, null, 'is larger than 256 KiB');
  let found: unknown;
  try {
    found = parse(text, { merge: true, maxAliasCount: 100, prettyErrors: true });
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw new ComposeError(null, null, `cannot be parsed: ${why}`);
  }
  if (!isRecord(found)) throw new ComposeError(null, null, 'is not a compose file');
  return found;
}

function checkVolumes(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  if (!isRecord(value)) throw new ComposeError(null, 'volumes', 'must be a map of names');
  for (const [name, options] of Object.entries(value)) {
    if (!namePattern.test(name))
      throw new ComposeError(null, `volumes.${name.slice(0, 40)}`, 'has an invalid name');
    const first = isRecord(options) ? Object.keys(options)[0] : undefined;
    if (first !== undefined || (options !== null && !isRecord(options)))
      throw new ComposeError(
        null,
        `volumes.${name}.${first ?? ''}`,
        'is not allowed: volumes have no options',
      );
  }
  return Object.keys(value);
}

function findMainService(
  services: Record<string, ComposeService>,
  raw: Record<string, unknown>,
): ComposeApp['main'] {
  const labelled = Object.keys(services).flatMap((name) => {
    const port = httpLabel((raw[name] as RawService).labels);
    return port === null ? [] : [{ service: name, port }];
  });
  const [first, second] = labelled;
  if (first && second)
    throw new ComposeError(second.service, 'labels', 'has svc.http, as has another service');
  if (first) {
    if (!isPort(first.port))
      throw new ComposeError(first.service, 'labels', 'has svc.http with an invalid port');
    return first;
  }
  const open = Object.entries(services).filter(([, { expose }]) => expose.length > 0);
  const [name, service] = (open.length === 1 ? open[0] : open.find(([each]) => each === 'web')) ?? [];
  const port = service?.expose[0];
  if (name === undefined || port === undefined)
    throw new ComposeError(
      null,
      'services',
      'have no main service: add the label `svc.http: <port>` to one, give only one a port, or name it web',
    );
  return { service: name, port };
}

function httpLabel(labels: unknown): number | null {
  const value = Array.isArray(labels)
    ? labels
        .map(String)
        .find((each) => each.startsWith('svc.http='))
        ?.slice('svc.http='.length)
    : isRecord(labels)
      ? labels['svc.http']
      : undefined;
  return value === undefined || value === null ? null : Number(value);
}

const isPort = (port: number) => Number.isInteger(port) && port >= 1 && port <= 65_535;

export async function buildCompose(deps: DockerDeps, job: BuildJob): Promise<Built> {
  const app = await readCompose(job);
  if (deps.swarmNode !== null && app.volumes.length > 0)
    throw new BuildError(
      'detect',
      'The compose file: volumes are not supported in a Swarm, where two deployments would use one at the same time.',
    );
  const { buildId, appId } = job;
  const images: Record<string, { image: string; imageId: string }> = {};
  const artifact: ComposeArtifact = { kind: 'compose', buildId, app, images };
  for (const [name, { build }] of Object.entries(app.services))
    if (build) images[name] = { image: `${imageName(deps, job)}-${name}`, imageId: '' };
  deps.built.write(buildId, { appId, artifact: { ...artifact } });
  for (const [name, { build }] of Object.entries(app.services)) {
    const image = images[name]?.image;
    if (!build || image === undefined) continue;
    job.log('platform', `Building ${name} …`);
    const { context, dockerfile, target, args } = build;
    const imageId = await buildFromDockerfile(deps, job, {
      context,
      dockerfile,
      image,
      args,
      ...(target === null ? {} : { target }),
    });
    images[name] = { image, imageId };
  }
  deps.built.write(buildId, { appId, artifact: { ...artifact } });
  const ids = Object.entries(images).map(([name, { imageId }]) => [name, imageId]);
  return { artifact: { ...artifact }, digest: publicDigest([app, ids]), filesDir: null };
}

async function readCompose({ sourceDir, plan, env }: BuildJob): Promise<ComposeApp> {
  const name = plan.composeFile ?? '';
  const top = await realpath(sourceDir);
  const found = await realpath(join(sourceDir, name)).catch(() => null);
  if (found === null || !found.startsWith(top + sep) || !(await lstat(found)).isFile())
    throw new BuildError('detect', `The source has no compose file ${name}.`);
  try {
    return checkCompose(await readFile(found, 'utf8'), env);
  } catch (error) {
    if (error instanceof ComposeError) throw new BuildError('detect', error.message);
    throw error;
  }
}
