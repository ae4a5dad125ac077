import { parse } from 'yaml';
import { checkService, isRecord, type RawService } from './check-service.ts';
import type { ComposeApp, ComposeService } from './compose-app.ts';
import { RefusedCompose } from './refused-compose.ts';

const servicesMax = 10;
const textMax = 256 * 1024;
const nameForm = /^[a-z0-9][a-z0-9_-]{0,29}$/;

/**
 * Reads a compose file by a list of what is allowed. What is known to reach outside of the app is named in the refusal;
 * what is not known is refused too.
 */
export function checkCompose(text: string, variables: Readonly<Record<string, string>>): ComposeApp {
  const top = read(text);
  for (const key of Object.keys(top)) {
    if (['version', 'name', 'services', 'volumes'].includes(key) || key.startsWith('x-')) continue;
    throw new RefusedCompose(null, key, topReasons[key] ?? 'is not supported here');
  }
  const volumes = checkVolumes(top.volumes);
  if (!isRecord(top.services) || Object.keys(top.services).length === 0)
    throw new RefusedCompose(null, 'services', 'names none');
  const entries = Object.entries(top.services);
  if (entries.length > servicesMax)
    throw new RefusedCompose(null, 'services', `are more than ${servicesMax}`);
  const services: Record<string, ComposeService> = {};
  for (const [name, given] of entries) {
    if (!nameForm.test(name))
      throw new RefusedCompose(
        name.slice(0, 40),
        null,
        'has a name that is none (a-z, 0-9, - and _, at most 30)',
      );
    if (!isRecord(given)) throw new RefusedCompose(name, null, 'says nothing');
    services[name] = checkService(name, given, { volumes, variables });
  }
  for (const [name, { dependsOn }] of Object.entries(services)) {
    const missing = Object.keys(dependsOn).find((other) => !(other in services));
    if (missing !== undefined)
      throw new RefusedCompose(name, 'depends_on', `names ${missing}, which is not there`);
  }
  return { services, volumes, main: mainOf(services, top.services) };
}

const topReasons: Record<string, string> = {
  networks: 'is not allowed: the services of an app have a network of their own, and no other',
  include: 'is not allowed: everything has to stand in this file',
  configs: 'is not allowed: put files into an image',
  secrets: 'is not allowed: set them by `svc env set`, and use them by their names',
};

function read(text: string): Record<string, unknown> {
  if (text.length > textMax) throw new RefusedCompose(null, null, 'is larger than 256 KiB');
  let found: unknown;
  try {
    found = parse(text, { merge: true, maxAliasCount: 100, prettyErrors: true });
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw new RefusedCompose(null, null, `can not be read: ${why}`);
  }
  if (!isRecord(found)) throw new RefusedCompose(null, null, 'is no compose file');
  return found;
}

function checkVolumes(given: unknown): string[] {
  if (given === undefined || given === null) return [];
  if (!isRecord(given)) throw new RefusedCompose(null, 'volumes', 'has to be names');
  for (const [name, options] of Object.entries(given)) {
    if (!nameForm.test(name))
      throw new RefusedCompose(null, `volumes.${name.slice(0, 40)}`, 'has a name that is none');
    const first = isRecord(options) ? Object.keys(options)[0] : undefined;
    if (first !== undefined || (options !== null && !isRecord(options)))
      throw new RefusedCompose(
        null,
        `volumes.${name}.${first ?? ''}`,
        'is not allowed: volumes of an app are its own, plain ones',
      );
  }
  return Object.keys(given);
}

/** The one that says so, the only one with a port, or the one named `web`. */
function mainOf(services: Record<string, ComposeService>, raw: Record<string, unknown>): ComposeApp['main'] {
  const told = Object.keys(services).flatMap((name) => {
    const port = httpLabel((raw[name] as RawService).labels);
    return port === null ? [] : [{ service: name, port }];
  });
  const [first, second] = told;
  if (first && second)
    throw new RefusedCompose(second.service, 'labels', 'has svc.http, as has another service');
  if (first) {
    if (!isPort(first.port))
      throw new RefusedCompose(first.service, 'labels', 'has svc.http, which is no port');
    return first;
  }
  const open = Object.entries(services).filter(([, { expose }]) => expose.length > 0);
  const [name, service] = (open.length === 1 ? open[0] : open.find(([each]) => each === 'web')) ?? [];
  const port = service?.expose[0];
  if (name === undefined || port === undefined)
    throw new RefusedCompose(
      null,
      'services',
      'leave open which one answers: give one the label `svc.http: <port>`, or only one a port, or name it web',
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
