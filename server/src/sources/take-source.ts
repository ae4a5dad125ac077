import { chown, mkdir } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import type { Db } from '../plumbing/db.ts';
import { type RunAs, runTar } from '../plumbing/run-tar.ts';
import { BadArchive } from '../plumbing/tar-header.ts';
import { type EntryLimits, sourceLimits } from './check-entry.ts';
import { checkedTar } from './checked-tar.ts';
import { lookOver } from './look-over.ts';
import { requireSum } from './require-sum.ts';
import { sourceKey } from './source-key.ts';
import { findUploadRow } from './store.ts';

export interface TakeParts {
  db: Db;
  objects: ObjectStore;
}

export interface TakenUpload {
  tenantId: string;
  appId: string;
  uploadId: string;
  /** An empty folder, or none yet. What fails may leave some of it. */
  into: string;
  /** Whose the files are then; where the server is root and nobody is named, nobody's. */
  runAs?: RunAs | undefined;
  signal?: AbortSignal | undefined;
  limits?: EntryLimits;
}

/** The source of a deployment is not there, or is none: `message` is for the app's owners. */
export class SourceUnavailable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SourceUnavailable';
  }
}

/** Unpacks what was uploaded. It comes from outside: nothing of it may lie, or lead, beyond the folder. */
export async function unpackUpload({ db, objects }: TakeParts, taken: TakenUpload): Promise<void> {
  const { into, runAs = unprivileged(), signal, limits = sourceLimits } = taken;
  const row = await findUploadRow(db, taken, taken.uploadId);
  const stored = row?.sha256 ? await objects.get(sourceKey(taken, taken.uploadId)) : null;
  if (!row?.sha256 || !stored)
    throw new SourceUnavailable('The source has not arrived, or is not kept any more.');
  await mkdir(into, { recursive: true, mode: 0o700 });
  if (runAs) await chown(into, runAs.uid, runAs.gid);
  // Of two that were sent at once to the same address, only the one counts whose sum was written down.
  const packed = requireSum(stored.body, row.sha256, () => {
    return new SourceUnavailable('What is kept of the source is not what had arrived.');
  });
  // Listened to from the beginning: what fails in the middle of a pipe would otherwise be nobody's.
  const unpacking = Readable.from(packed).on('error', (error) => gunzip.destroy(error));
  const gunzip = createGunzip();
  gunzip.on('error', () => unpacking.destroy());
  try {
    await runTar(checkedTar(inflated(unpacking.pipe(gunzip)), limits), { into, runAs, signal });
    await lookOver(into, limits);
  } catch (error) {
    if (error instanceof BadArchive) throw new SourceUnavailable(error.message, { cause: error });
    throw error;
  } finally {
    unpacking.destroy();
    gunzip.destroy();
  }
}

const nobody: RunAs = { uid: 65_534, gid: 65_534 };

function unprivileged(): RunAs | undefined {
  return process.getuid?.() === 0 ? nobody : undefined;
}

/** What gzip can not read is the archive's fault. */
async function* inflated(gunzip: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* gunzip;
  } catch (error) {
    if (error instanceof Error && 'code' in error && /^Z_/.test(String(error.code)))
      throw new BadArchive('The archive is damaged.');
    throw error;
  }
}
