import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { sourceBytesMax, sourceUnpackedBytesMax } from '@svc/contract/deployments.ts';
import type { Ctx } from '../context.ts';
import { usage } from '../errors.ts';
import { fileUnreadable } from '../file-chunks.ts';
import { manifestIn } from '../find-manifest.ts';
import { plain } from '../output.ts';
import { refused } from '../static/refused.ts';
import { readable } from '../storage/byte-progress.ts';
import { tarPieces } from './tar-pieces.ts';
import { walkSource } from './walk-source.ts';

export interface PackedFolder {
  bytes: Uint8Array<ArrayBuffer>;
  sha256: string;
  files: number;
}

const leftOutShownMax = 10;

/** The source in a folder as one archive. All that can be refused without a server is refused here. */
export async function packFolder(ctx: Ctx, folder: string): Promise<PackedFolder> {
  const place = resolve(ctx.io.cwd(), folder);
  const entry = await stat(place).catch((cause: unknown) => {
    throw fileUnreadable(folder, cause);
  });
  if (!entry.isDirectory()) throw usage(`${folder} is no folder.`, 'Give the folder that holds the source.');
  const { entries, leftOut } = walkSource(place, { named: await namedForBuild(place) });
  if (leftOut.length > 0) ctx.note(leftOutNote(leftOut));
  if (entries.length === 0)
    throw refused('validation_failed', {
      detail: `${folder} holds no source.`,
      next: 'Give the folder of the app.',
    });
  const size = entries.reduce((sum, each) => sum + (each.kind === 'file' ? each.size : 0), 0);
  if (size > sourceUnpackedBytesMax) throw tooLarge(folder, size, sourceUnpackedBytesMax);
  const bytes = await packed(ctx, folder, Readable.from(tarPieces(entries)));
  return { bytes, sha256: new Bun.CryptoHasher('sha256').update(bytes).digest('hex'), files: entries.length };
}

/** Loads the schema library, where there is a `svc.yaml` to be read. */
async function namedForBuild(place: string): Promise<string[]> {
  const path = await manifestIn(place);
  if (path === null) return [];
  const { readManifest } = await import('../manifest.ts');
  const { deploy } = (await readManifest(path)).manifest;
  return [deploy?.dockerfile, deploy?.compose_file].filter((name) => name !== undefined);
}

async function packed(ctx: Ctx, folder: string, tar: Readable): Promise<Uint8Array<ArrayBuffer>> {
  const gzip = createGzip();
  tar.on('error', (cause) => gzip.destroy(cause));
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of tar.pipe(gzip)) {
    if (ctx.signal.aborted) throw ctx.signal.reason;
    pieces.push(piece);
    size += piece.byteLength;
    if (size > sourceBytesMax) throw tooLarge(folder, size, sourceBytesMax);
  }
  return new Uint8Array(Buffer.concat(pieces));
}

function tooLarge(folder: string, size: number, most: number): Error {
  return refused('payload_too_large', {
    detail: `${folder} holds at least ${readable(size)} of source; ${readable(most)} are taken.`,
    next: 'Name what is not source in .svcignore.',
  });
}

function leftOutNote(leftOut: readonly string[]): string {
  const more = leftOut.length - leftOutShownMax;
  const shown = leftOut.slice(0, leftOutShownMax).map(plain).join(', ');
  return `Left out: ${shown}${more > 0 ? ` and ${more} more` : ''}.`;
}
