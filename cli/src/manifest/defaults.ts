import { manifestFileNames } from '@svc/contract/manifest.ts';
import { CliError, usageError } from '../framework/errors.ts';
import type { Io } from '../framework/io.ts';

export interface ManifestDefaults {
  path: string;
  app: string | null;
  tenant: string | null;
}

const cachedDefaults = new WeakMap<Io, Promise<ManifestDefaults | null>>();

/** Reads the nearest `svc.yaml`. An invalid file is an error: ignoring it could send a command to another tenant. */
export function manifestDefaults(io: Io): Promise<ManifestDefaults | null> {
  const known = cachedDefaults.get(io) ?? readDefaults(io);
  cachedDefaults.set(io, known);
  return known;
}

async function readDefaults({ cwd, env }: Io): Promise<ManifestDefaults | null> {
  const folder = cwd();
  const path = await findManifest({ cwd: folder, home: env.HOME || env.USERPROFILE });
  if (path === null) return null;
  const { readManifestNames } = await import('./document.ts');
  const isHere = path.startsWith(`${folder}/`);
  return { path, ...(await readManifestNames(path, isHere ? path.slice(folder.length + 1) : path)) };
}

/**
 * The nearest `svc.yaml` in the current folder or above it, up to the root of the repository. Ignores the home folder,
 * the root folder and world-writable folders (`/tmp`), unless they are the current folder. Avoids node:fs, which would
 * double the start-up time.
 */
export async function findManifest(from: { cwd: string; home: string | undefined }): Promise<string | null> {
  const home = from.home?.replace(/(.)[/\\]+$/, '$1');
  let folder = from.cwd;
  for (;;) {
    const found = await findManifestIn(folder);
    if (found !== null) return found;
    const parent = parentFolder(folder);
    if (parent === null || parent === home || (await exists(`${folder}/.git`))) return null;
    if (parentFolder(parent) === null || (await isWorldWritable(parent))) return null;
    folder = parent;
  }
}

export async function findManifestIn(folder: string): Promise<string | null> {
  const paths = manifestFileNames.map((name) => `${folder.replace(/[/\\]$/, '')}/${name}`);
  const there = await Promise.all(paths.map(exists));
  const [found, another] = paths.filter((_, at) => there[at]);
  if (found !== undefined && another !== undefined) {
    throw usageError(`${folder} contains both ${manifestFileNames.join(' and ')}.`, 'Keep one of them.');
  }
  if (found === undefined) await rejectDanglingLinks(folder);
  return found ?? null;
}

/** A dangling link must not be treated as absent, because commands would then use a folder above. */
async function rejectDanglingLinks(folder: string): Promise<void> {
  // A glob pattern lists the names in the folder; a plain name would be followed.
  const names = new Bun.Glob('svc.y*ml').scan({ cwd: folder, onlyFiles: false });
  try {
    for await (const name of names) {
      if (!manifestFileNames.some((known) => known === name)) continue;
      throw new CliError('file_unreadable', `${folder}/${name} is a dangling link.`, {
        next: 'Fix or remove the link.',
      });
    }
  } catch (cause) {
    // Ignores a folder that cannot be listed.
    if (cause instanceof CliError) throw cause;
  }
}

function parentFolder(folder: string): string | null {
  const parent = /^(.*)[/\\][^/\\]+$/.exec(folder)?.[1];
  if (parent === undefined) return null;
  return parent === '' || /^[A-Za-z]:$/.test(parent) ? `${parent}/` : parent;
}

function exists(path: string): Promise<boolean> {
  return Bun.file(path)
    .stat()
    .then(
      () => true,
      () => false,
    );
}

function isWorldWritable(folder: string): Promise<boolean> {
  const writtenByOthers = 0o002;
  return Bun.file(folder)
    .stat()
    .then(
      ({ mode }) => process.platform !== 'win32' && (mode & writtenByOthers) !== 0,
      () => true,
    );
}
