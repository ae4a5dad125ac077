import { createHash, type Hash } from 'node:crypto';
import { createReadStream, ReadStream, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Migration } from '../../core/migrate.ts';
import { Failure, fail, validationError } from '../../core/problem.ts';
import { isKey } from '../../drivers/object-store/object-store.ts';
import { decryptBytes, isEncrypted } from '../backup/archive.ts';
import { type FileEntry, isAllowedLink, isBackedUp } from '../backup/data-files.ts';
import {
  fileHashInput,
  filesFolder,
  type Manifest,
  manifestPath,
  objectsFolder,
  parseManifest,
  parseRawPath,
  parseTablePath,
  schemaPath,
  tableKey,
} from '../backup/manifest.ts';
import { damagedError, readTar } from '../backup/tar-reader.ts';
import { compareMigrations } from '../system.ts';

export interface BackupSource {
  file: string;
  identities: readonly string[];
}

export async function verifyBackup(
  source: BackupSource,
  migrations: readonly Migration[],
): Promise<Manifest> {
  const hashes = new Map<string, Hash>();
  const pieces = new Map<string, number>();
  const files = newTotals();
  const objects = newTotals();
  const raw = new Map<string, Hash>();
  const checkLinks = createLinkCheck();
  let manifest: Manifest | null = null;
  for await (const entry of readBackup(source)) {
    if (manifest) throw damagedError('it has data after the manifest');
    const table = parseTablePath(entry.path);
    const rawDatabase = parseRawPath(entry.path);
    if (entry.path === manifestPath) {
      manifest = parseManifest(await readWhole(entry.content));
    } else if (table) {
      const expected = pieces.get(tableKey(table)) ?? 0;
      if (table.piece !== expected) throw damagedError(`${entry.path} is out of order`);
      pieces.set(tableKey(table), expected + 1);
      await addHash(hashes, tableKey(table), entry);
    } else if (entry.path.startsWith(`${filesFolder}/`)) {
      await addFileHash(files, checkLinks(dataEntry(entry)));
    } else if (entry.path.startsWith(`${objectsFolder}/`)) {
      await addFileHash(objects, { ...entry, path: objectKey(entry) });
    } else if (rawDatabase) {
      const hash = raw.get(rawDatabase.database) ?? createHash('sha256');
      raw.set(rawDatabase.database, hash.update(fileHashInput(entry)));
      for await (const chunk of entry.content) hash.update(chunk);
    } else {
      await addHash(hashes, entry.path, entry);
    }
  }
  if (!manifest) throw damagedError('it has no manifest');
  compareHashes(manifest, hashes, { files, objects, raw });
  checkMigrations(manifest, migrations);
  return manifest;
}

/** Apps may have files with a backslash in their names, which only Windows takes for a folder. */
const forbidden = process.platform === 'win32' ? /[\0\\]/ : /\0/;

export function dataEntry(entry: FileEntry): FileEntry {
  const path = dataPath(entry.path);
  return entry.kind === 'hard_link'
    ? { ...entry, path, target: dataPath(entry.target ?? '') }
    : { ...entry, path };
}

function dataPath(archived: string): string {
  const path = archived.slice(filesFolder.length + 1);
  const parts = path.split('/');
  const isInvalid = parts.some((part) => ['', '.', '..'].includes(part) || forbidden.test(part));
  if (!archived.startsWith(`${filesFolder}/`) || isInvalid || !isBackedUp(parts[0] ?? ''))
    throw damagedError(`${archived} is not a valid path`);
  return path;
}

/** Nothing is written through a link, and no link leaves its folder but those of apps. */
export function createLinkCheck(): (file: FileEntry) => FileEntry {
  const links = new Set<string>();
  const passesLink = (path: string) => {
    for (let end = path.indexOf('/'); end > 0; end = path.indexOf('/', end + 1))
      if (links.has(path.slice(0, end))) return true;
    return links.has(path);
  };
  return (file) => {
    const { path, kind, target = '' } = file;
    if (passesLink(path)) throw damagedError(`${path} would be written through a link`);
    if (kind === 'link') {
      if (!isAllowedLink(path, target)) throw damagedError(`${path} is a link out of its folder`);
      links.add(path);
    }
    if (kind === 'hard_link' && (passesLink(target) || target.split('/')[0] !== path.split('/')[0]))
      throw damagedError(`${path} is a link out of its folder`);
    return file;
  };
}

export function objectKey({ path }: Pick<FileEntry, 'path'>): string {
  const key = path.slice(objectsFolder.length + 1);
  if (!isKey(key)) throw damagedError(`${path} is not a valid path`);
  return key;
}

interface Totals {
  count: number;
  bytes: number;
  hash: Hash;
}

function newTotals(): Totals {
  return { count: 0, bytes: 0, hash: createHash('sha256') };
}

async function addHash(hashes: Map<string, Hash>, key: string, { content }: FileEntry): Promise<void> {
  const hash = hashes.get(key) ?? createHash('sha256');
  hashes.set(key, hash);
  for await (const chunk of content) hash.update(chunk);
}

async function addFileHash(files: Totals, entry: FileEntry): Promise<void> {
  files.hash.update(fileHashInput(entry));
  files.count += entry.kind === 'file' ? 1 : 0;
  files.bytes += entry.size;
  for await (const chunk of entry.content) files.hash.update(chunk);
}

function compareHashes(
  manifest: Manifest,
  hashes: Map<string, Hash>,
  { files, objects, raw }: { files: Totals; objects: Totals; raw: Map<string, Hash> },
): void {
  const found = new Map([...hashes].map(([key, hash]) => [key, hash.digest('hex')]));
  const expected = [
    ...manifest.tables.map((table) => ({ ...table, key: tableKey(table), empty: table.rows === 0 })),
    ...manifest.schemas.map(({ name, sha256 }) => ({ key: schemaPath(name), sha256, empty: false })),
  ];
  for (const { key, sha256, empty } of expected) {
    const hash = found.get(key);
    if (hash !== sha256 && !(empty && hash === undefined))
      throw damagedError(`${key} is not as it was written`);
    found.delete(key);
  }
  const [unknown] = found.keys();
  if (unknown !== undefined) throw damagedError(`${unknown} is not in its list`);
  const isEqual = ({ count, hash }: Totals, listed: Manifest['files']) =>
    count === listed.count && hash.digest('hex') === listed.sha256;
  if (!isEqual(files, manifest.files)) throw damagedError('its files are not as they were written');
  if (!isEqual(objects, manifest.objects)) throw damagedError('its objects are not as they were written');
  for (const { database, sha256 } of manifest.raw_databases)
    if (raw.get(database)?.digest('hex') !== sha256)
      throw damagedError(`${database} is not as it was written`);
  if (raw.size !== manifest.raw_databases.length) throw damagedError('a raw database is not in its list');
}

/** The rows fit the schema they were read from, so this version must know the same migrations. */
function checkMigrations(manifest: Manifest, migrations: readonly Migration[]): void {
  const { changed, unknown } = compareMigrations(migrations, manifest.migrations);
  if (unknown.length > 0) {
    const detail = `The backup is of a newer version (${manifest.product_version}, with ${unknown.join(', ')}): restore it with that one.`;
    throw fail('invalid_state_transition', { detail });
  }
  if (changed.length > 0) {
    const detail = `The backup was made with another ${changed.join(', ')} than this version has.`;
    throw fail('invalid_state_transition', { detail });
  }
}

export async function* readBackup({ file, identities }: BackupSource): AsyncGenerator<FileEntry> {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile())
    throw validationError('from', `file ${file} does not exist`);
  const stored = createReadStream(file);
  const packed = (await isEncrypted(file)) ? Readable.from(decryptBytes(stored, identities)) : stored;
  try {
    yield* readTar(gunzip(packed));
  } finally {
    stored.destroy();
  }
}

async function* gunzip(packed: Readable): AsyncGenerator<Uint8Array> {
  const bytes = packed.pipe(createGunzip());
  packed.on('error', (error) => bytes.destroy(error));
  try {
    yield* bytes;
  } catch (error) {
    if (error instanceof Failure) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code.startsWith('Z_')) throw damagedError('it cannot be decompressed');
    throw packed instanceof ReadStream ? error : damagedError('it cannot be decrypted');
  } finally {
    packed.destroy();
    bytes.destroy();
  }
}

export async function readWhole(content: FileEntry['content']): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}
