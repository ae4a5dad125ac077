import { chown, lstat, mkdir, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { staysInside } from '@svc/contract/source-links.ts';
import { TarError } from '@svc/contract/tar.ts';
import type { Db } from '../../core/db.ts';
import { type RunAs, runTar } from '../../core/run-tar.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import { checkedTar, type EntryLimits, sourceLimits } from './checked-tar.ts';
import { requireHash } from './receive-source.ts';
import { sourceKey } from './sources.ts';
import { findUploadRow } from './store.ts';

export interface UnpackDeps {
  db: Db;
  objects: ObjectStore;
}

interface UnpackRequest {
  tenantId: string;
  appId: string;
  uploadId: string;
  /** An empty or missing folder. A failure may leave files in it. */
  into: string;
  /** Owner of the files. Default: `nobody` if the server runs as root. */
  runAs?: RunAs | undefined;
  signal?: AbortSignal | undefined;
  limits?: EntryLimits;
}

/** `message` is shown to the app's owners. */
export class SourceError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SourceError';
  }
}

/** The archive is untrusted: no entry may be, or link to, outside of the folder. */
export async function unpackUpload({ db, objects }: UnpackDeps, request: UnpackRequest): Promise<void> {
  const { into, runAs = unprivileged(), signal, limits = sourceLimits } = request;
  const row = await findUploadRow(db, request, request.uploadId);
  const stored = row?.sha256 ? await objects.get(sourceKey(request, request.uploadId)) : null;
  if (!row?.sha256 || !stored) throw new SourceError('The source was not uploaded, or has expired.');
  await mkdir(into, { recursive: true, mode: 0o700 });
  if (runAs) await chown(into, runAs.uid, runAs.gid);
  // Concurrent uploads may have overwritten each other: only the recorded one is valid.
  const packed = requireHash(
    stored.body,
    row.sha256,
    () => new SourceError('The stored source does not match the upload.'),
  );
  // `pipe` does not forward errors: without handlers they would be uncaught.
  const unpacking = Readable.from(packed).on('error', (error) => gunzip.destroy(error));
  const gunzip = createGunzip();
  gunzip.on('error', () => unpacking.destroy());
  try {
    await runTar(checkedTar(inflated(unpacking.pipe(gunzip)), limits), { into, runAs, signal });
    await verifyUnpacked(into, limits);
  } catch (error) {
    if (error instanceof TarError) throw new SourceError(error.message, { cause: error });
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

async function* inflated(gunzip: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* gunzip;
  } catch (error) {
    if (error instanceof Error && 'code' in error && /^Z_/.test(String(error.code)))
      throw new TarError('The archive is damaged.');
    throw error;
  }
}

/** Checks the unpacked files again, because tar may read an archive differently than `checkedTar`. */
async function verifyUnpacked(folder: string, { filesMax, bytesMax }: EntryLimits): Promise<void> {
  const open = [''];
  let [entries, bytes] = [0, 0];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const name of await readdir(join(folder, at))) {
      const path = at === '' ? name : `${at}/${name}`;
      const entry = await lstat(join(folder, path));
      if (++entries > filesMax) throw new TarError(`The archive holds more than ${filesMax} files.`);
      if (entry.isDirectory()) open.push(path);
      else if (entry.isFile()) bytes += entry.size;
      else if (!entry.isSymbolicLink() || !staysInside(path, await readlink(join(folder, path))))
        throw new TarError(`${JSON.stringify(path)} is neither a file nor a link that stays inside.`);
      if (bytes > bytesMax) throw new TarError(`The archive holds more than ${bytesMax} bytes.`);
    }
  }
}
