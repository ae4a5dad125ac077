import type { SourceFiles } from './source-files.ts';

export interface RequiredTool {
  name: 'node' | 'npm' | 'pnpm' | 'yarn' | 'bun';
  /** A version or range as in `package.json`, or `lts`. */
  range: string;
  /** Shown in the build log. */
  reason: string;
}

/** Node.js and the package manager that a JavaScript project requires. */
export async function requiredTools(files: SourceFiles): Promise<RequiredTool[]> {
  const text = await files.read('package.json');
  if (text === null) return [];
  const declared = parseDeclared(text);
  const manager = declared.manager ?? (await lockedManager(files));
  return [await requiredNode(files, declared.node), ...(manager ? [manager] : [])];
}

async function requiredNode(files: SourceFiles, engines: string | null): Promise<RequiredTool> {
  if (engines !== null && engines !== '*')
    return { name: 'node', range: engines, reason: `engines.node in package.json is ${engines}` };
  for (const file of ['.nvmrc', '.node-version']) {
    const [line = ''] = ((await files.read(file)) ?? '').trim().split('\n');
    const range = nvmRange(line.trim());
    if (range !== null) return { name: 'node', range, reason: `${file} says ${line.trim()}` };
  }
  return { name: 'node', range: 'lts', reason: 'the newest LTS release' };
}

const ltsNames: Readonly<Record<string, string>> = {
  hydrogen: '18',
  iron: '20',
  jod: '22',
  krypton: '24',
};

function nvmRange(line: string): string | null {
  if (line === '' || line.startsWith('#')) return null;
  if (/^(?:lts\/\*|lts|node|stable|current)$/i.test(line)) return 'lts';
  const name = /^lts\/(\w+)$/i.exec(line)?.[1]?.toLowerCase();
  if (name !== undefined) return ltsNames[name] ?? null;
  return /^v?\d+(?:\.\d+){0,2}$/.test(line) ? line.replace(/^v/, '') : null;
}

const managerNames = ['npm', 'pnpm', 'yarn', 'bun'] as const;

function parseDeclared(text: string): { node: string | null; manager: RequiredTool | null } {
  let data: { engines?: { node?: unknown }; packageManager?: unknown };
  try {
    data = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return { node: null, manager: null };
  }
  const node = data?.engines?.node;
  const declared = typeof data?.packageManager === 'string' ? data.packageManager : '';
  const [, name, version = ''] = /^(\w+)@(\d+\.\d+\.\d+)/.exec(declared) ?? [];
  const known = managerNames.find((each) => each === name);
  return {
    node: typeof node === 'string' && node.trim() !== '' ? node.trim() : null,
    manager: known
      ? { name: known, range: version, reason: `packageManager in package.json is ${known}@${version}` }
      : null,
  };
}

/** Without a lock file of another package manager, the npm of the machine is used. */
async function lockedManager(files: SourceFiles): Promise<RequiredTool | null> {
  const has = (file: string) => files.paths.has(file);
  if (has('pnpm-lock.yaml')) {
    const version = /^lockfileVersion: *'?([\d.]+)/m.exec((await files.read('pnpm-lock.yaml')) ?? '')?.[1];
    const range = pnpmRange(Number(version ?? 9));
    return { name: 'pnpm', range, reason: `pnpm-lock.yaml has version ${version ?? 'unknown'}` };
  }
  if (has('yarn.lock')) {
    const version = await yarnLockVersion(files);
    if (version === null) return { name: 'yarn', range: '1', reason: 'yarn.lock is of Yarn 1' };
    const range = yarnRange(Number(version));
    return { name: 'yarn', range, reason: `yarn.lock has version ${version}` };
  }
  const bun = ['bun.lock', 'bun.lockb'].find(has);
  return bun === undefined ? null : { name: 'bun', range: '1', reason: `${bun} is the lock file of Bun` };
}

/** Null for the format of Yarn 1. */
export async function yarnLockVersion(files: SourceFiles): Promise<string | null> {
  const text = await files.read('yarn.lock');
  return /^__metadata:\r?\n(?: .*\n)*? +version: (\d+)/m.exec(text ?? '')?.[1] ?? null;
}

function pnpmRange(lockfileVersion: number): string {
  if (lockfileVersion >= 9) return '9 || 10';
  return lockfileVersion >= 6 ? '8' : '7';
}

/** An install that is frozen to the lock file needs a Yarn that writes the same version of it. */
function yarnRange(lockfileVersion: number): string {
  if (lockfileVersion >= 10) return '>=4.15.0';
  if (lockfileVersion === 9) return '~4.14.0';
  if (lockfileVersion === 8) return '>=4.0.0 <4.14.0';
  return lockfileVersion >= 5 ? '3' : '2';
}
