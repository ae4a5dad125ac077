import { chown, lstat, mkdir, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { sourceFilesMax, sourceUnpackedBytesMax } from '@svc/contract/deployments.ts';
import { staysInside } from '@svc/contract/source-links.ts';
import {
  blockBytes,
  parsePax,
  parseTarHeader,
  TarError,
  type TarHeader,
  tarEnd,
  utf8,
} from '@svc/contract/tar.ts';
import type { Db } from '../../core/db.ts';
import { type RunAs, runTar } from '../../core/run-tar.ts';
import { quotePath } from '../../core/values.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import { requireHash } from './receive-source.ts';
import { findUploadRow, sourceKey } from './sources.ts';

export interface UnpackDeps {
  db: Db;
  objects: ObjectStore;
}

interface UnpackRequest {
  tenantId: string;
  appId: string;
  uploadId: string;
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
  const { into, runAs = chooseUser(), signal, limits = sourceLimits } = request;
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
    await runTar(checkedTar(inflate(unpacking.pipe(gunzip)), limits), { into, runAs, signal });
    // The archive ends before the stored bytes do, and the sum is compared at their end.
    await finished(unpacking.resume());
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

function chooseUser(): RunAs | undefined {
  return process.getuid?.() === 0 ? nobody : undefined;
}

async function* inflate(gunzip: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
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

const extraBytesMax = 64 * 1024;
/** Programs interpret these records differently. */
const refusedRecords = /^GNU\.sparse\./;

/** Streams an archive and checks each header before passing it on; throws `TarError` for entries that source must not have. */
export async function* checkedTar(
  pieces: AsyncIterable<Uint8Array>,
  limits: EntryLimits,
): AsyncGenerator<Uint8Array> {
  const check = createEntryCheck(limits);
  const read = createReader(pieces);
  let extra: Extra = {};
  for (;;) {
    const block = await read.exactly(blockBytes);
    if (block === null) throw new TarError('The archive is incomplete.');
    const header = parseTarHeader(block);
    if (header === null) break;
    const padded = Math.ceil(header.size / blockBytes) * blockBytes;
    if ('xgLK'.includes(header.type)) {
      if (header.size > extraBytesMax) throw new TarError('A name in the archive is too long.');
      const body = await read.exactly(padded);
      if (body === null) throw new TarError('The archive is incomplete.');
      extra = withExtra(extra, header, body.subarray(0, header.size));
      yield block;
      yield body;
      continue;
    }
    check(applyExtra(header, extra));
    extra = {};
    yield block;
    yield* read.upTo(padded);
  }
  if (Object.keys(extra).length > 0) throw new TarError('The archive is incomplete.');
  // Some programs require both end blocks.
  yield tarEnd();
}

interface Extra {
  name?: string;
  linkName?: string;
}

function withExtra(extra: Extra, { type }: TarHeader, body: Uint8Array): Extra {
  if (type === 'L' || type === 'K') {
    const text = utf8(body.at(-1) === 0 ? body.subarray(0, -1) : body);
    return type === 'L' ? { ...extra, name: text } : { ...extra, linkName: text };
  }
  const records = parsePax(body);
  for (const key of records.keys())
    if (refusedRecords.test(key)) throw new TarError('The archive holds a sparse file.');
  const [path, linkpath, size] = ['path', 'linkpath', 'size'].map((key) => records.get(key));
  // The header has the size as well, and programs differ in which one they use.
  if (size !== undefined) throw new TarError('A header of the archive has two sizes.');
  if (type === 'g' && (path !== undefined || linkpath !== undefined))
    throw new TarError('The archive gives one name to all of its entries.');
  return {
    ...extra,
    ...(path !== undefined && { name: path }),
    ...(linkpath !== undefined && { linkName: linkpath }),
  };
}

function applyExtra(header: TarHeader, { name, linkName }: Extra): TarHeader {
  return { ...header, name: name ?? header.name, linkName: linkName ?? header.linkName };
}

function createReader(pieces: AsyncIterable<Uint8Array>) {
  const source = pieces[Symbol.asyncIterator]();
  let buffered: Uint8Array = new Uint8Array(0);

  async function more(): Promise<boolean> {
    const { done, value } = await source.next();
    if (done) return false;
    buffered = buffered.byteLength === 0 ? value : Buffer.concat([buffered, value]);
    return true;
  }

  function take(bytes: number): Uint8Array {
    const taken = buffered.subarray(0, bytes);
    buffered = buffered.subarray(bytes);
    return taken;
  }

  return {
    async exactly(bytes: number): Promise<Uint8Array | null> {
      while (buffered.byteLength < bytes) if (!(await more())) return null;
      return take(bytes);
    },
    async *upTo(bytes: number): AsyncGenerator<Uint8Array> {
      for (let left = bytes; left > 0; ) {
        if (buffered.byteLength === 0 && !(await more())) throw new TarError('The archive is incomplete.');
        const piece = take(left);
        left -= piece.byteLength;
        yield piece;
      }
    },
  };
}

interface EntryLimits {
  filesMax: number;
  bytesMax: number;
}

const sourceLimits: EntryLimits = { filesMax: sourceFilesMax, bytesMax: sourceUnpackedBytesMax };

const pathBytesMax = 4_096;
const segmentBytesMax = 255;

/** `..` only at the start of a link, and no entry below a link: so the text of a link is enough to resolve it. */
function createEntryCheck({ filesMax, bytesMax }: EntryLimits): (entry: TarHeader) => void {
  const files = new Set<string>();
  const folders = new Set<string>(['']);
  const links = new Set<string>();
  let entries = 0;
  let bytes = 0;

  function addEntry(path: string, kind: Set<string>): void {
    const parents = parentsOf(path);
    const blocked = parents.find((parent) => links.has(parent) || files.has(parent));
    if (blocked !== undefined)
      throw entryError(path, `is below ${quotePath(blocked)}, which is not a folder`);
    const isFolder = kind === folders;
    if (links.has(path) || (!isFolder && folders.has(path)) || (isFolder && files.has(path)))
      throw entryError(path, 'exists twice with different types');
    for (const parent of parents) folders.add(parent);
    kind.add(path);
  }

  return (entry) => {
    const path = plainPath(entry.name);
    if (++entries > filesMax) throw new TarError(`The archive holds more than ${filesMax} files.`);
    bytes += entry.size;
    if (bytes > bytesMax) throw new TarError(`The archive holds more than ${bytesMax} bytes.`);
    if (!'07'.includes(entry.type) && entry.size > 0)
      throw entryError(path, 'has content that its type does not allow');
    switch (entry.type) {
      case '0':
      case '7':
        if (path === '' || entry.name.endsWith('/')) throw entryError(entry.name, 'is not a valid file name');
        return addEntry(path, files);
      case '5':
        return addEntry(path, folders);
      case '2':
        if (!staysInside(path, entry.linkName))
          throw entryError(path, 'is a link that leads out of the source');
        return addEntry(path, links);
      case '1':
        if (!files.has(plainPath(entry.linkName)))
          throw entryError(path, 'is a hard link to a file that the archive does not contain');
        return addEntry(path, files);
      default:
        throw entryError(path, 'is neither a file, a folder nor a link');
    }
  };
}

function plainPath(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are rejected.
  if (name === '' || /[\u0000-\u001f\u007f]/.test(name)) throw entryError(name, 'is not a valid file name');
  if (name.startsWith('/')) throw entryError(name, 'is an absolute path');
  if (Buffer.byteLength(name) > pathBytesMax) throw entryError(name, 'is too long');
  const segments = name.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) throw entryError(name, 'contains ..');
  if (segments.some((segment) => Buffer.byteLength(segment) > segmentBytesMax))
    throw entryError(name, 'is too long');
  return segments.join('/');
}

function parentsOf(path: string): string[] {
  const parents: string[] = [];
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) parents.push(path.slice(0, at));
  return parents;
}

function entryError(path: string, what: string): TarError {
  return new TarError(`${quotePath(path)} ${what}.`);
}
