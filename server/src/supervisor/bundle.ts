import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../core/project-root.ts';

/** Entry points of the server. As bundles with bytecode they load in half the time (decision 117). */
export const programs = ['supervise.ts', 'agent.ts', 'gate.ts', 'git.ts', 'main.ts'] as const;
export type Program = (typeof programs)[number];

export interface Manifest {
  bun: string;
  root: string;
  folder: string;
  sources: Record<string, SourceFile>;
}

interface SourceFile {
  mtimeMs: number;
  size: number;
  hash: string;
}

/** In `node_modules`, which git ignores and an installation replaces. */
export const bundlesFolder = (root: string) => join(root, 'node_modules', '.svc-bundle');
export const manifestPath = (root: string) => join(bundlesFolder(root), 'manifest.json');

/** The bundle of a program, or the program itself when a source of the bundle has changed. */
export function findProgram(program: Program): string {
  const folder = findCurrentBundle(projectRoot);
  return folder ? join(folder, program.replace(/ts$/, 'js')) : join(projectRoot, 'server', 'src', program);
}

export function findCurrentBundle(root: string): string | null {
  const manifest = readManifest(root);
  if (manifest?.bun !== Bun.revision || manifest.root !== root) return null;
  const isCurrent = Object.entries(manifest.sources).every(([path, known]) =>
    isUnchanged(join(root, path), known),
  );
  return isCurrent ? join(bundlesFolder(root), manifest.folder) : null;
}

/** Makes the bundle of the next start, in a separate process that outlives the server. */
export function renewBundle(): void {
  if (findCurrentBundle(projectRoot)) return;
  const program = join(projectRoot, 'scripts', 'bundle.ts');
  Bun.spawn([process.execPath, '--no-env-file', program, '--background'], {
    cwd: projectRoot,
    stdio: ['ignore', 'ignore', 'ignore'],
    detached: true,
  }).unref();
}

export function readManifest(root: string): Manifest | null {
  try {
    return JSON.parse(readFileSync(manifestPath(root), 'utf8')) as Manifest;
  } catch {
    return null;
  }
}

export function describeSource(path: string): SourceFile {
  const { mtimeMs, size } = statSync(path);
  return { mtimeMs, size, hash: hashFile(path) };
}

/** Copies, such as those in the layers of an image, have other times: then the content counts. */
function isUnchanged(path: string, { mtimeMs, size, hash }: SourceFile): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.size !== size) return false;
  return found.mtimeMs === mtimeMs || hashFile(path) === hash;
}

function hashFile(path: string): string {
  return Bun.hash(readFileSync(path)).toString(36);
}
