import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { sourceBytesMax, sourceUnpackedBytesMax } from '@svc/contract/deployments.ts';
import { tarEnd, tarHeaderBlocks, tarPadding } from '@svc/contract/tar.ts';
import type { Ctx } from '../context.ts';
import { usageError } from '../framework/errors.ts';
import { fileUnreadableError } from '../inputs/files.ts';
import { findManifestIn } from '../manifest/defaults.ts';
import { formatBytes } from '../output/progress.ts';
import { rejectionError } from '../session/problems.ts';
import { fileIdentity, printExcluded } from '../static/site-files.ts';
import { type SourceEntry, walkSource } from './walk-source.ts';

export interface PackedFolder {
  bytes: Uint8Array<ArrayBuffer>;
  sha256: string;
  files: number;
}

export async function packFolder(ctx: Ctx, folder: string): Promise<PackedFolder> {
  const absolutePath = resolve(ctx.io.cwd(), folder);
  const entry = await stat(absolutePath).catch((cause: unknown) => {
    throw fileUnreadableError(folder, cause);
  });
  if (!entry.isDirectory())
    throw usageError(`${folder} is not a folder.`, 'Pass the folder with the source.');
  const { entries, leftOut } = walkSource(absolutePath, { named: await buildFileNames(absolutePath) });
  printExcluded(ctx, leftOut);
  if (entries.length === 0)
    throw rejectionError('validation_failed', {
      detail: `${folder} contains no source.`,
      next: 'Pass the folder of the app.',
    });
  const size = entries.reduce((sum, each) => sum + (each.kind === 'file' ? each.size : 0), 0);
  if (size > sourceUnpackedBytesMax) throw tooLargeError(folder, size, sourceUnpackedBytesMax);
  const bytes = await gzipTar(ctx, folder, Readable.from(tarChunks(entries)));
  return { bytes, sha256: new Bun.CryptoHasher('sha256').update(bytes).digest('hex'), files: entries.length };
}

/** Loads the schema library only if there is a `svc.yaml`. */
async function buildFileNames(absolutePath: string): Promise<string[]> {
  const path = await findManifestIn(absolutePath);
  if (path === null) return [];
  const { readManifest } = await import('../manifest/manifest.ts');
  const { deploy } = (await readManifest(path)).manifest;
  return [deploy?.dockerfile, deploy?.compose_file].filter((name) => name !== undefined);
}

async function gzipTar(ctx: Ctx, folder: string, tar: Readable): Promise<Uint8Array<ArrayBuffer>> {
  const gzip = createGzip();
  tar.on('error', (cause) => gzip.destroy(cause));
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of tar.pipe(gzip)) {
    if (ctx.signal.aborted) throw ctx.signal.reason;
    pieces.push(piece);
    size += piece.byteLength;
    if (size > sourceBytesMax) throw tooLargeError(folder, size, sourceBytesMax);
  }
  return new Uint8Array(Buffer.concat(pieces));
}

function tooLargeError(folder: string, size: number, most: number): Error {
  return rejectionError('payload_too_large', {
    detail: `${folder} contains at least ${formatBytes(size)} of source; the limit is ${formatBytes(most)}.`,
    next: 'Exclude other files with .svcignore.',
  });
}

const chunkBytes = 256 * 1024;
const openFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * The bytes of a POSIX tar archive: Bun.Archive supports neither links nor executable files. Times and owners are left
 * out, so that the same files give the same bytes.
 */
export async function* tarChunks(entries: readonly SourceEntry[]): AsyncGenerator<Uint8Array> {
  for (const entry of entries) {
    if (entry.kind === 'link') {
      yield* tarHeaderBlocks({ name: entry.path, type: '2', size: 0, mode: 0o777, linkName: entry.target });
      continue;
    }
    yield* tarHeaderBlocks({ name: entry.path, type: '0', size: entry.size, mode: entry.mode });
    yield* readContent(entry);
    yield tarPadding(entry.size);
  }
  yield tarEnd();
}

async function* readContent(file: SourceEntry & { kind: 'file' }): AsyncGenerator<Uint8Array> {
  const handle = await open(file.absolutePath, openFlags).catch((cause: unknown) => {
    throw fileUnreadableError(file.absolutePath, cause);
  });
  try {
    if (!Bun.deepEquals(fileIdentity(await handle.stat()), file.identity)) throw fileChangedError(file);
    let left = file.size;
    while (left > 0) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(left, chunkBytes)));
      if (bytesRead === 0) throw fileChangedError(file);
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
    if (!Bun.deepEquals(fileIdentity(await handle.stat()), file.identity)) throw fileChangedError(file);
  } finally {
    await handle.close();
  }
}

function fileChangedError({ path }: SourceEntry): Error {
  return rejectionError('digest_mismatch', {
    detail: `${path} changed while it was packed.`,
    next: 'Deploy again when nothing writes to the folder.',
  });
}
