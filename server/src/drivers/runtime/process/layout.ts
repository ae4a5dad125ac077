import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../../core/project-root.ts';
import { type Lock, tryLock } from '../../os/lock-file.ts';
import { writeSandboxFiles } from './sandbox.ts';

export interface Layout {
  work: string;
  artifacts: string;
  run: string;
  homes: string;
  nodes: string;
  users: string;
  preload: string;
  sandbox: string;
}

export function makeLayout(dataDir: string): Layout {
  const top = join(dataDir, 'runtime');
  makeFolder(top, 0o711);
  for (const name of ['work', 'artifacts', 'run', 'homes']) makeFolder(join(top, name), 0o711);
  makeFolder(join(top, 'nodes'), 0o700);
  makeFolder(join(top, 'sandbox'), 0o711);
  writeSandboxFiles(join(top, 'sandbox'));
  writeAtomically(join(top, 'package.json'), emptyPackageJson);
  const preload = readFileSync(join(projectRoot, 'server/src/drivers/runtime/process/loopback.cjs'), 'utf8');
  writeAtomically(join(top, 'loopback.cjs'), preload);
  return {
    work: join(top, 'work'),
    artifacts: join(top, 'artifacts'),
    run: join(top, 'run'),
    homes: join(top, 'homes'),
    nodes: join(top, 'nodes'),
    users: join(top, 'users'),
    preload: join(top, 'loopback.cjs'),
    sandbox: join(top, 'sandbox'),
  };
}

function makeFolder(folder: string, mode: number): void {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, mode);
}

function writeAtomically(path: string, text: string): void {
  const temporary = `${path}.${crypto.randomUUID()}`;
  writeFileSync(temporary, text);
  chmodSync(temporary, 0o644);
  renameSync(temporary, path);
}

/** Node.js and npm look for a `package.json` in parent folders; this one keeps them inside the data dir. */
export const emptyPackageJson = '{}\n';

export function checkId(id: unknown): string {
  if (!isId(id)) throw new Error(`Not an ID: ${JSON.stringify(id)}.`);
  return id;
}

export function isId(id: unknown): id is string {
  return typeof id === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
}

interface ClaimedNodes {
  own: string;
  dead: readonly string[];
  forgetDead(): void;
  release(): void;
}

export function claimNode(folder: string): ClaimedNodes {
  const taken = readdirSync(folder).flatMap((name) => {
    if (!isId(name)) return [];
    const lock = tryLock(join(folder, name));
    return 'release' in lock ? [{ name, lock }] : [];
  });
  const [first, ...dead] = taken;
  const own = first ?? createNode(folder);
  return {
    own: own.name,
    dead: dead.map(({ name }) => name),
    forgetDead: () => {
      for (const { lock } of dead) lock.release();
    },
    release: () => {
      const empty = join(folder, `${own.name}.free`);
      writeFileSync(empty, '', { mode: 0o600 });
      renameSync(empty, join(folder, own.name));
    },
  };
}

function createNode(folder: string): { name: string; lock: Lock } {
  const name = crypto.randomUUID();
  const lock = tryLock(join(folder, name));
  if (!('release' in lock)) throw new Error(`${name} is already in use.`);
  return { name, lock };
}
