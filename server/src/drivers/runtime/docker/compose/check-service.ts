import { posix } from 'node:path';
import { reasonAgainstImage } from '../reason-against-image.ts';
import type { ComposeBuild, ComposeMount, ComposeService } from './compose-app.ts';
import { interpolate } from './interpolate.ts';
import { RefusedCompose } from './refused-compose.ts';
import { allowed, healthKeys, reasons } from './service-keys.ts';

export type RawService = Record<string, unknown>;
type Variables = Readonly<Record<string, string>>;

interface Surroundings {
  volumes: readonly string[];
  variables: Variables;
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function checkService(name: string, given: RawService, around: Surroundings): ComposeService {
  const refuse = (key: string, why: string) => new RefusedCompose(name, key, why);
  for (const key of Object.keys(given)) {
    if (!allowed.includes(key) && !key.startsWith('x-'))
      throw refuse(key, reasons[key] ?? 'is not supported here');
  }
  /** What shapes the app is settled now; what it is told comes when it starts. */
  const settled = (key: string, value: unknown): string => {
    if (typeof value !== 'string' && typeof value !== 'number') throw refuse(key, 'has to be text');
    try {
      return interpolate(String(value), around.variables);
    } catch (error) {
      throw refuse(key, `can not be settled: ${(error as Error).message.replace(/\.$/, '')}`);
    }
  };
  const image = given.image === undefined ? null : settled('image', given.image);
  const build = given.build === undefined ? null : buildOf(given.build);
  if (image === null && build === null) throw refuse('image', 'is missing, and there is no build');
  if (build === null && !/^[a-z0-9][\w./:@-]{0,254}$/i.test(image ?? ''))
    throw refuse('image', 'is no name of one');
  const against = build === null ? reasonAgainstImage(image ?? '') : null;
  if (against !== null) throw refuse('image', `has ${image}, which ${against}`);

  function buildOf(value: unknown): ComposeBuild {
    const wish = isRecord(value) ? value : { context: value };
    const strange = Object.keys(wish).find(
      (key) => !['context', 'dockerfile', 'target', 'args'].includes(key),
    );
    if (strange !== undefined) throw refuse(`build.${strange}`, 'is not supported here');
    const context = below('build.context', settled('build.context', wish.context ?? '.'));
    const file = settled('build.dockerfile', wish.dockerfile ?? 'Dockerfile');
    return {
      context,
      dockerfile: below('build.dockerfile', posix.join(context, file)),
      target: wish.target === undefined ? null : settled('build.target', wish.target),
      args: mapOf('build.args', wish.args, (each) => settled('build.args', each)),
    };
  }

  function below(key: string, path: string): string {
    const clean = posix.normalize(path).replace(/\/$/, '');
    if (/^[a-z]+:|^git@|\.git$/i.test(path) || posix.isAbsolute(clean) || clean.split('/').includes('..'))
      throw refuse(key, 'has to be below the source');
    return clean;
  }

  function mapOf(key: string, value: unknown, read: (each: unknown) => string): Record<string, string> {
    if (value === undefined || value === null) return {};
    const pairs = Array.isArray(value)
      ? value.map((each) => {
          const [, before = '', after] = /^([^=]*)(?:=(.*))?$/s.exec(String(each)) ?? [];
          return [before, after ?? `\${${before}}`] as const;
        })
      : isRecord(value)
        ? Object.entries(value).map(([each, text]) => [each, text ?? `\${${each}}`] as const)
        : [];
    if (pairs.length === 0 && !isRecord(value) && !Array.isArray(value))
      throw refuse(key, 'has to be names and values');
    const wrong = pairs.find(([each]) => !/^[A-Za-z_]\w*$/.test(each));
    if (wrong) throw refuse(key, `has a name that is none: ${wrong[0].slice(0, 40)}`);
    return Object.fromEntries(pairs.map(([each, text]) => [each, read(text)]));
  }

  function wordsOf(key: string, value: unknown): string | string[] | null {
    if (value === undefined || value === null) return null;
    if (typeof value === 'string') return value;
    if (Array.isArray(value) && value.every((each) => ['string', 'number'].includes(typeof each)))
      return value.map(String);
    throw refuse(key, 'has to be text, or a list of it');
  }

  function portsOf(key: 'ports' | 'expose'): number[] {
    const value = given[key];
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw refuse(key, 'has to be a list');
    return value.flatMap((each) => {
      if (isRecord(each) && each.protocol === 'udp') return [];
      const text = settled(key, isRecord(each) ? each.target : each);
      if (text.endsWith('/udp')) return [];
      const port = Number(
        text
          .replace(/\/tcp$/, '')
          .split(':')
          .at(-1),
      );
      if (!Number.isInteger(port) || port < 1 || port > 65_535)
        throw refuse(key, `has ${text}, which is no single port`);
      return [port];
    });
  }

  function mountOf(each: unknown): ComposeMount {
    const [type, source, target, mode] = isRecord(each)
      ? [each.type ?? 'volume', each.source, each.target, each.read_only === true ? 'ro' : 'rw']
      : ['volume', ...settled('volumes', each).split(':')];
    const [volume, path] = [settled('volumes', source ?? ''), settled('volumes', target ?? '')];
    if (type !== 'volume' || /^[./~$\\]|^[A-Za-z]:/.test(volume))
      throw refuse(
        'volumes',
        `has ${volume || String(type)}: folders of the machine are not allowed, only named volumes`,
      );
    if (!around.volumes.includes(volume) || !/^\/[^:]*$/.test(path))
      throw refuse('volumes', `has ${volume}, which is not named below the file’s own volumes`);
    if (mode !== undefined && mode !== 'rw' && mode !== 'ro') throw refuse('volumes', `has the mode ${mode}`);
    const strange = isRecord(each)
      ? Object.keys(each).find((key) => !['type', 'source', 'target', 'read_only'].includes(key))
      : undefined;
    if (strange !== undefined) throw refuse('volumes', `has ${strange}, which is not supported here`);
    return { volume, target: path, mode: mode === 'ro' ? 'ro' : 'rw' };
  }

  function dependsOn(): Record<string, string> {
    const value = given.depends_on;
    if (value === undefined || value === null) return {};
    if (Array.isArray(value))
      return Object.fromEntries(value.map((each) => [String(each), 'service_started']));
    if (!isRecord(value)) throw refuse('depends_on', 'has to be names');
    return Object.fromEntries(
      Object.entries(value).map(([other, how]) => {
        const condition = isRecord(how) ? (how.condition ?? 'service_started') : 'service_started';
        if (!['service_started', 'service_healthy'].includes(String(condition)))
          throw refuse('depends_on', `has the condition ${String(condition)}, which is not supported here`);
        return [other, String(condition)];
      }),
    );
  }

  function healthcheck(): Record<string, unknown> | null {
    const value = given.healthcheck;
    if (value === undefined || value === null) return null;
    if (!isRecord(value)) throw refuse('healthcheck', 'has to say what to test');
    const strange = Object.keys(value).find((key) => !healthKeys.includes(key));
    if (strange !== undefined) throw refuse(`healthcheck.${strange}`, 'is not supported here');
    return value;
  }

  if (given.volumes !== undefined && given.volumes !== null && !Array.isArray(given.volumes))
    throw refuse('volumes', 'has to be a list');
  return {
    image: build === null ? image : null,
    build,
    command: wordsOf('command', given.command),
    entrypoint: wordsOf('entrypoint', given.entrypoint),
    environment: mapOf('environment', given.environment, String),
    healthcheck: healthcheck(),
    workingDir: given.working_dir === undefined ? null : settled('working_dir', given.working_dir),
    user: given.user === undefined ? null : settled('user', given.user),
    expose: [...new Set([...portsOf('ports'), ...portsOf('expose')])],
    volumes: ((given.volumes ?? []) as unknown[]).map(mountOf),
    dependsOn: dependsOn(),
  };
}
