import { posix } from 'node:path';
import { findImageProblem } from '../read-dockerfile.ts';
import {
  type ComposeBuild,
  ComposeError,
  type ComposeMount,
  type ComposeService,
  interpolate,
} from './compose-app.ts';

export type RawService = Record<string, unknown>;
type Variables = Readonly<Record<string, string>>;

interface ServiceContext {
  volumes: readonly string[];
  variables: Variables;
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function checkService(name: string, raw: RawService, context: ServiceContext): ComposeService {
  const keyError = (key: string, why: string) => new ComposeError(name, key, why);
  for (const key of Object.keys(raw)) {
    if (!allowed.includes(key) && !key.startsWith('x-'))
      throw keyError(key, reasons[key] ?? 'is not supported here');
  }
  const resolve = (key: string, value: unknown): string => {
    if (typeof value !== 'string' && typeof value !== 'number') throw keyError(key, 'must be text');
    try {
      return interpolate(String(value), context.variables);
    } catch (error) {
      throw keyError(key, `cannot be resolved: ${(error as Error).message.replace(/\.$/, '')}`);
    }
  };
  const image = raw.image === undefined ? null : resolve('image', raw.image);
  const build = raw.build === undefined ? null : buildOf(raw.build);
  if (image === null && build === null) throw keyError('image', 'is missing, and there is no build');
  if (build === null && !/^[a-z0-9][\w./:@-]{0,254}$/i.test(image ?? ''))
    throw keyError('image', 'is not a valid image name');
  const against = build === null ? findImageProblem(image ?? '') : null;
  if (against !== null) throw keyError('image', `has ${image}, which ${against}`);

  function buildOf(value: unknown): ComposeBuild {
    const options = isRecord(value) ? value : { context: value };
    const unknown = Object.keys(options).find(
      (key) => !['context', 'dockerfile', 'target', 'args'].includes(key),
    );
    if (unknown !== undefined) throw keyError(`build.${unknown}`, 'is not supported here');
    const context = below('build.context', resolve('build.context', options.context ?? '.'));
    const file = resolve('build.dockerfile', options.dockerfile ?? 'Dockerfile');
    return {
      context,
      dockerfile: below('build.dockerfile', posix.join(context, file)),
      target: options.target === undefined ? null : resolve('build.target', options.target),
      args: mapOf('build.args', options.args, (each) => resolve('build.args', each)),
    };
  }

  function below(key: string, path: string): string {
    const clean = posix.normalize(path).replace(/\/$/, '');
    if (/^[a-z]+:|^git@|\.git$/i.test(path) || posix.isAbsolute(clean) || clean.split('/').includes('..'))
      throw keyError(key, 'must be a path below the source');
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
      throw keyError(key, 'must be names with values');
    const wrong = pairs.find(([each]) => !/^[A-Za-z_]\w*$/.test(each));
    if (wrong) throw keyError(key, `has an invalid variable name: ${wrong[0].slice(0, 40)}`);
    return Object.fromEntries(pairs.map(([each, text]) => [each, read(text)]));
  }

  function wordsOf(key: string, value: unknown): string | string[] | null {
    if (value === undefined || value === null) return null;
    if (typeof value === 'string') return value;
    if (Array.isArray(value) && value.every((each) => ['string', 'number'].includes(typeof each)))
      return value.map(String);
    throw keyError(key, 'must be text or a list of texts');
  }

  function portsOf(key: 'ports' | 'expose'): number[] {
    const value = raw[key];
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw keyError(key, 'must be a list');
    return value.flatMap((each) => {
      if (isRecord(each) && each.protocol === 'udp') return [];
      const text = resolve(key, isRecord(each) ? each.target : each);
      if (text.endsWith('/udp')) return [];
      const port = Number(
        text
          .replace(/\/tcp$/, '')
          .split(':')
          .at(-1),
      );
      if (!Number.isInteger(port) || port < 1 || port > 65_535)
        throw keyError(key, `has ${text}, which is not a single port`);
      return [port];
    });
  }

  function mountOf(each: unknown): ComposeMount {
    const [type, source, target, mode] = isRecord(each)
      ? [each.type ?? 'volume', each.source, each.target, each.read_only === true ? 'ro' : 'rw']
      : ['volume', ...resolve('volumes', each).split(':')];
    const [volume, path] = [resolve('volumes', source ?? ''), resolve('volumes', target ?? '')];
    if (type !== 'volume' || /^[./~$\\]|^[A-Za-z]:/.test(volume))
      throw keyError(
        'volumes',
        `has ${volume || String(type)}: only named volumes are allowed, not folders of the host`,
      );
    if (!context.volumes.includes(volume) || !/^\/[^:]*$/.test(path))
      throw keyError('volumes', `has ${volume}, which the file does not declare under volumes`);
    if (mode !== undefined && mode !== 'rw' && mode !== 'ro') throw keyError('volumes', `has mode ${mode}`);
    const unknown = isRecord(each)
      ? Object.keys(each).find((key) => !['type', 'source', 'target', 'read_only'].includes(key))
      : undefined;
    if (unknown !== undefined) throw keyError('volumes', `has ${unknown}, which is not supported here`);
    return { volume, target: path, mode: mode === 'ro' ? 'ro' : 'rw' };
  }

  function dependsOn(): Record<string, string> {
    const value = raw.depends_on;
    if (value === undefined || value === null) return {};
    if (Array.isArray(value))
      return Object.fromEntries(value.map((each) => [String(each), 'service_started']));
    if (!isRecord(value)) throw keyError('depends_on', 'must be a list of service names');
    return Object.fromEntries(
      Object.entries(value).map(([other, how]) => {
        const condition = isRecord(how) ? (how.condition ?? 'service_started') : 'service_started';
        if (!['service_started', 'service_healthy'].includes(String(condition)))
          throw keyError('depends_on', `has the condition ${String(condition)}, which is not supported here`);
        return [other, String(condition)];
      }),
    );
  }

  function healthcheck(): Record<string, unknown> | null {
    const value = raw.healthcheck;
    if (value === undefined || value === null) return null;
    if (!isRecord(value)) throw keyError('healthcheck', 'must be an object with a test');
    const unknown = Object.keys(value).find((key) => !healthKeys.includes(key));
    if (unknown !== undefined) throw keyError(`healthcheck.${unknown}`, 'is not supported here');
    return value;
  }

  if (raw.volumes !== undefined && raw.volumes !== null && !Array.isArray(raw.volumes))
    throw keyError('volumes', 'must be a list');
  return {
    image: build === null ? image : null,
    build,
    command: wordsOf('command', raw.command),
    entrypoint: wordsOf('entrypoint', raw.entrypoint),
    environment: mapOf('environment', raw.environment, String),
    healthcheck: healthcheck(),
    workingDir: raw.working_dir === undefined ? null : resolve('working_dir', raw.working_dir),
    user: raw.user === undefined ? null : resolve('user', raw.user),
    expose: [...new Set([...portsOf('ports'), ...portsOf('expose')])],
    volumes: ((raw.volumes ?? []) as unknown[]).map(mountOf),
    dependsOn: dependsOn(),
  };
}

const allowed = [
  'image',
  'build',
  'command',
  'entrypoint',
  'environment',
  'ports',
  'expose',
  'volumes',
  'depends_on',
  'healthcheck',
  'labels',
  'working_dir',
  'user',
  'restart',
  'init',
];
const healthKeys = ['test', 'interval', 'timeout', 'retries', 'start_period', 'disable'];

const outside = 'is not allowed: it would give the app access outside its containers';
const elsewhere = 'is not allowed: put everything into this file';
const reasons: Record<string, string> = {
  ...Object.fromEntries(
    [
      'privileged',
      'network_mode',
      'pid',
      'ipc',
      'uts',
      'userns_mode',
      'cgroup',
      'cgroup_parent',
      'devices',
      'gpus',
    ]
      .concat([
        'device_cgroup_rules',
        'cap_add',
        'security_opt',
        'sysctls',
        'runtime',
        'volumes_from',
        'group_add',
      ])
      .concat([
        'credential_spec',
        'isolation',
        'oom_kill_disable',
        'oom_score_adj',
        'tmpfs',
        'ulimits',
        'shm_size',
      ])
      .map((key) => [key, outside]),
  ),
  extends: elsewhere,
  env_file: `${elsewhere}; set variables with \`svc env set\``,
  networks: 'is not allowed: the services of an app share one private network',
  external_links: 'is not allowed: the services of an app share one private network',
  links: 'is not needed: services find each other by name',
  secrets: 'is not allowed: set secrets with `svc env set`, and refer to them by name',
  configs: 'is not allowed: put the files into an image',
  deploy: 'is not allowed: the tier of the app sets the limits',
  container_name: 'is not allowed: the platform assigns names',
};
