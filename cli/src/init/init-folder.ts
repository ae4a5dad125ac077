import { randomBytes } from 'node:crypto';
import { constants, copyFile, link, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { reservedSlugs } from '@svc/contract/apps.ts';
import { listSourceFiles, sourceFileBytesMax } from '@svc/contract/detect/source-files.ts';
import { slugPattern, uuidPattern } from '@svc/contract/limits.ts';
import type { Manifest } from '@svc/contract/manifest.shapes.ts';
import { manifestFileNames } from '@svc/contract/manifest.ts';
import { CliError, usageError } from '../framework/errors.ts';
import { findManifestIn } from '../manifest/defaults.ts';
import { detect, type Evidence, type Folder } from './detect.ts';
import { isName, type RequestedNames } from './names.ts';
import { renderManifest } from './render.ts';

export interface InitInput {
  folder: string;
  names: RequestedNames;
  baseUrl: string;
  to: 'new' | 'new_or_existing' | 'nowhere';
}

export interface InitResult {
  path: string;
  created: boolean;
  manifest: Manifest;
  evidence: Evidence[];
  text: string;
}

export async function initFolder({ folder, names, baseUrl, to }: InitInput): Promise<InitResult> {
  checkInput(names);
  const existing = await findManifestIn(folder);
  const path = existing ?? `${folder}/${manifestFileNames[0]}`;
  if (existing !== null && to === 'new') throw fileExistsError(existing);
  const detected = await detect(await openFolder(folder), names);
  const text = renderManifest(detected, { baseUrl });
  if (to !== 'nowhere') {
    await writeNewFile(path, text, { existing: to === 'new' ? 'refuse' : 'replace' });
  }
  return { path, created: to !== 'nowhere', ...detected, text };
}

function checkInput({ name, slug, tenant }: RequestedNames): void {
  if (name !== undefined && !isName(name)) {
    throw usageError('The name must be 1 to 100 characters on one line, and not blank.');
  }
  if (slug !== undefined && reservedSlugs.includes(slug))
    throw usageError(`--slug ${slug} is a reserved word.`);
  if (slug !== undefined && (!slugPattern.test(slug) || uuidPattern.test(slug))) {
    throw usageError('--slug must be 2 to 63 of a-z, 0-9 and -, begin with a letter and not end with -.');
  }
  if (tenant !== undefined && !slugPattern.test(tenant) && !uuidPattern.test(tenant)) {
    throw usageError(
      'The tenant (--tenant, SVC_TENANT) must be an id, or a slug: 2 to 63 of a-z, 0-9 and -, beginning with a letter.',
    );
  }
}

async function openFolder(folder: string): Promise<Folder> {
  const paths = await listSourceFiles(async (path) => {
    try {
      return await readdir(join(folder, path), { withFileTypes: true });
    } catch (cause) {
      if (path !== '') return [];
      const reason = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
      throw new CliError('file_unreadable', `${folder} cannot be read${reason}.`, { cause });
    }
  });
  const read = async (path: string) => (paths.has(path) ? readText(join(folder, path)) : null);
  return { files: { paths, read }, name: basename(folder), origin: await readOrigin(folder) };
}

/** Null for what cannot be read, and for pipes and devices, which could block for ever. */
async function readText(path: string): Promise<string | null> {
  const file = Bun.file(path);
  const entry = await file.stat().catch(() => null);
  if (entry === null || !entry.isFile() || entry.size > sourceFileBytesMax) return null;
  return file.text().catch(() => null);
}

/** Reads git's own file: running git could run what the repository configures. */
async function readOrigin(folder: string): Promise<string | null> {
  const text = (await readText(join(folder, '.git', 'config'))) ?? '';
  const section = /^\[remote "origin"\]\s*\n((?:(?!\[).*\n?)*)/m.exec(text)?.[1] ?? '';
  return /^\s*url\s*=\s*"?([^"\n]+?)"?\s*$/m.exec(section)?.[1] ?? null;
}

export async function writeNewFile(
  path: string,
  text: string,
  { existing }: { existing: 'refuse' | 'replace' },
): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const file = await open(temporary, 'wx', 0o644);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    if (existing === 'replace') await rename(temporary, path);
    // Fails if the name exists; a rename would replace it. Not every file system supports links.
    else await link(temporary, path).catch(() => copyFile(temporary, path, constants.COPYFILE_EXCL));
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    if (code === 'EEXIST') throw fileExistsError(path);
    const why = code === '' ? '' : ` (${code})`;
    throw new CliError('output_failed', `${path} cannot be written${why}.`, { cause });
  } finally {
    await rm(temporary, { force: true });
  }
}

export function fileExistsError(path: string): CliError {
  return new CliError('file_exists', `${path} already exists.`, {
    next: 'Edit it, or replace it with --force; --print only shows the new file.',
  });
}
