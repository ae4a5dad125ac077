import { constants, lstatSync, readdirSync, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { isLeftOutOfSite, releaseFilesMax } from '@svc/contract/site-paths.ts';
import type { Ctx } from '../context.ts';
import { sanitize } from '../framework/text.ts';
import { fileUnreadableError } from '../inputs/files.ts';
import { countText, rejectionError } from '../session/problems.ts';

export interface SiteFile {
  path: string;
  absolutePath: string;
  size: number;
  identity: FileIdentity;
}

export interface FileIdentity {
  dev: number;
  ino: number;
  size: number;
  mtimeMs: number;
}

interface Walked {
  files: SiteFile[];
  leftOut: string[];
}

export function walkSite(folder: string, own: ReadonlySet<string> = new Set()): Walked {
  const files: SiteFile[] = [];
  const leftOut: string[] = [];
  const invalid: ProblemItem[] = [];
  const folders = [{ absolutePath: folder, path: '', depth: 0 }];
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for (const name of readNames(at.absolutePath)) {
      const absolutePath = join(at.absolutePath, name);
      const path = `${at.path}${name}`;
      if (at.depth === 0 && own.has(name)) continue;
      if (isLeftOutOfSite(name, at.depth)) {
        leftOut.push(path);
        continue;
      }
      const entry = readEntry(absolutePath);
      if (entry.isDirectory()) folders.push({ absolutePath, path: `${path}/`, depth: at.depth + 1 });
      else if (entry.isFile()) files.push(toSiteFile(path, absolutePath, entry));
      else invalid.push({ field: path, code: 'invalid_path', detail: `is ${entryKind(entry)}` });
      if (files.length > releaseFilesMax) throw tooManyFilesError(folder);
    }
  }
  if (invalid.length > 0) throw notFilesError(invalid);
  files.sort((one, other) => (one.path < other.path ? -1 : 1));
  return { files, leftOut: leftOut.sort() };
}

const leftOutShownMax = 10;

export function printExcluded(ctx: Ctx, leftOut: readonly string[]): void {
  if (leftOut.length === 0) return;
  const more = leftOut.length - leftOutShownMax;
  const shown = leftOut.slice(0, leftOutShownMax).map(sanitize).join(', ');
  ctx.note(`Excluded: ${shown}${more > 0 ? ` and ${more} more` : ''}.`);
}

function toSiteFile(path: string, absolutePath: string, entry: Stats): SiteFile {
  return { path: path.normalize('NFC'), absolutePath, size: entry.size, identity: fileIdentity(entry) };
}

export function fileIdentity({ dev, ino, size, mtimeMs }: Stats): FileIdentity {
  return { dev, ino, size, mtimeMs };
}

function readNames(absolutePath: string): string[] {
  try {
    return readdirSync(absolutePath);
  } catch (cause) {
    throw fileUnreadableError(absolutePath, cause);
  }
}

function readEntry(absolutePath: string): Stats {
  try {
    return lstatSync(absolutePath);
  } catch (cause) {
    // Invalid UTF-8 is replaced in the name, so the file is not found.
    if (absolutePath.includes('\ufffd'))
      throw rejectionError('invalid_path', {
        detail: `${absolutePath} has a name that is not UTF-8.`,
        next: 'Rename the file.',
      });
    throw fileUnreadableError(absolutePath, cause);
  }
}

function entryKind(entry: Stats): string {
  if (entry.isSymbolicLink()) return 'a symbolic link';
  if (entry.isFIFO()) return 'a named pipe';
  if (entry.isSocket()) return 'a socket';
  return 'a device';
}

function notFilesError(invalid: readonly ProblemItem[]): Error {
  const items = [...invalid].sort((one, other) => ((one.field ?? '') < (other.field ?? '') ? -1 : 1));
  return rejectionError('invalid_path', {
    detail: countText(
      items.length,
      'entry of the folder is not a file',
      'entries of the folder are not files',
    ),
    next: 'Replace links with files, and remove the other entries.',
    items,
  });
}

function tooManyFilesError(folder: string): Error {
  return rejectionError('payload_too_large', {
    detail: `${folder} contains more than ${releaseFilesMax} files.`,
    next: 'Pass the output folder of the build.',
  });
}

const chunkBytesMax = 1024 * 1024;
/** Neither follows a link nor blocks on a pipe. */
const openFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Fails if the file has changed. `take` must not retain its chunk. */
export async function readSiteFile(file: SiteFile, take: (chunk: Uint8Array) => void): Promise<void> {
  const handle = await open(file.absolutePath, openFlags).catch((cause: unknown) => {
    throw isGone(cause) ? fileChangedError(file) : fileUnreadableError(file.absolutePath, cause);
  });
  try {
    if (!isSame(fileIdentity(await handle.stat()), file.identity)) throw fileChangedError(file);
    const chunks = await readChunks(handle, file, take);
    // A single chunk was read right after the check.
    if (chunks > 1 && !isSame(fileIdentity(await handle.stat()), file.identity)) throw fileChangedError(file);
  } finally {
    await handle.close();
  }
}

async function readChunks(
  handle: FileHandle,
  file: SiteFile,
  take: (chunk: Uint8Array) => void,
): Promise<number> {
  // One extra byte reveals a file that has grown.
  const buffer = Buffer.allocUnsafe(Math.min(chunkBytesMax, file.size + 1));
  let [read, chunks] = [0, 0];
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, read).catch((cause: unknown) => {
      throw fileUnreadableError(file.absolutePath, cause);
    });
    if (bytesRead > 0) take(buffer.subarray(0, bytesRead));
    read += bytesRead;
    chunks += 1;
    if (read > file.size) throw fileChangedError(file);
    if (bytesRead < buffer.length) break;
  }
  if (read !== file.size) throw fileChangedError(file);
  return chunks;
}

function isSame(one: FileIdentity, other: FileIdentity): boolean {
  return (
    one.dev === other.dev && one.ino === other.ino && one.size === other.size && one.mtimeMs === other.mtimeMs
  );
}

function isGone(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return code === 'ENOENT' || code === 'ELOOP' || code === 'ENOTDIR';
}

export function fileChangedError({ path }: SiteFile): Error {
  return rejectionError('digest_mismatch', {
    detail: `${path} changed while it was deployed.`,
    next: 'Deploy again when nothing writes to the folder.',
    items: [{ field: path, code: 'digest_mismatch', detail: 'changed' }],
  });
}
