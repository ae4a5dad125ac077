import { manifestFileNames } from '@svc/contract/manifest.ts';
import { CliError, usage } from './errors.ts';

/**
 * The nearest `svc.yaml`: that of the folder one stands in, or of a folder above it, up to the root of the repository.
 * The home folder, the root of the file system and folders that anybody may write to (`/tmp`) are not looked at from
 * below: what lies there is not about the folder one stands in. Loading node:fs would cost as much as a bare start.
 */
export async function findManifest(from: { cwd: string; home: string | undefined }): Promise<string | null> {
  const home = from.home?.replace(/(.)[/\\]+$/, '$1');
  let folder = from.cwd;
  for (;;) {
    const found = await manifestIn(folder);
    if (found !== null) return found;
    const parent = parentOf(folder);
    if (parent === null || parent === home || (await isThere(`${folder}/.git`))) return null;
    if (parentOf(parent) === null || (await isOpenToAll(parent))) return null;
    folder = parent;
  }
}

/** Of one folder alone. */
export async function manifestIn(folder: string): Promise<string | null> {
  const paths = manifestFileNames.map((name) => `${folder.replace(/[/\\]$/, '')}/${name}`);
  const there = await Promise.all(paths.map(isThere));
  const [found, another] = paths.filter((_, at) => there[at]);
  if (found !== undefined && another !== undefined) {
    throw usage(`${folder} holds both ${manifestFileNames.join(' and ')}.`, 'Keep one of them.');
  }
  if (found === undefined) await refuseDeadLinks(folder);
  return found ?? null;
}

/** A link that leads nowhere is no file and yet there: taken for none, commands would go on to a folder above. */
async function refuseDeadLinks(folder: string): Promise<void> {
  // A pattern looks at the names in the folder; a name alone would be followed.
  const names = new Bun.Glob('svc.y*ml').scan({ cwd: folder, onlyFiles: false });
  try {
    for await (const name of names) {
      if (!manifestFileNames.some((known) => known === name)) continue;
      throw new CliError('file_unreadable', `${folder}/${name} is a link that leads nowhere.`, {
        next: 'Mend the link, or remove it.',
      });
    }
  } catch (cause) {
    // A folder that can not be listed tells nothing.
    if (cause instanceof CliError) throw cause;
  }
}

function parentOf(folder: string): string | null {
  const parent = /^(.*)[/\\][^/\\]+$/.exec(folder)?.[1];
  if (parent === undefined) return null;
  return parent === '' || /^[A-Za-z]:$/.test(parent) ? `${parent}/` : parent;
}

function isThere(path: string): Promise<boolean> {
  return Bun.file(path)
    .stat()
    .then(
      () => true,
      () => false,
    );
}

function isOpenToAll(folder: string): Promise<boolean> {
  const writtenByOthers = 0o002;
  return Bun.file(folder)
    .stat()
    .then(
      ({ mode }) => process.platform !== 'win32' && (mode & writtenByOthers) !== 0,
      () => true,
    );
}
