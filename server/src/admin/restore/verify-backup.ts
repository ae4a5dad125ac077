import { createHash, type Hash } from 'node:crypto';
import type { Migration } from '../../plumbing/migrate.ts';
import { fail } from '../../plumbing/problem.ts';
import { isBackedUp } from '../backup/data-files.ts';
import {
  fileFacts,
  filesFolder,
  type Manifest,
  manifestPath,
  schemaPath,
  tableKey,
  tableOfPath,
} from '../backup/manifest.ts';
import { compareMigrations } from '../migration-state.ts';
import { parseManifest } from './parse-manifest.ts';
import { readBackup, readWhole } from './read-backup.ts';
import { damaged, type ReadEntry } from './tar-reader.ts';

/** Reads the whole backup and checks every sum in it, and that this version can load it. Changes nothing. */
export async function verifyBackup(file: string, migrations: readonly Migration[]): Promise<Manifest> {
  const sums = new Map<string, Hash>();
  const pieces = new Map<string, number>();
  const files = { count: 0, bytes: 0, sum: createHash('sha256') };
  let manifest: Manifest | null = null;
  for await (const entry of readBackup(file)) {
    if (manifest) throw damaged('something comes after its end');
    const table = tableOfPath(entry.path);
    if (entry.path === manifestPath) {
      manifest = parseManifest(await readWhole(entry.content));
    } else if (table) {
      const expected = pieces.get(tableKey(table)) ?? 0;
      if (table.piece !== expected) throw damaged(`${entry.path} is out of order`);
      pieces.set(tableKey(table), expected + 1);
      await add(sums, tableKey(table), entry);
    } else if (entry.path.startsWith(`${filesFolder}/`)) {
      await addFile(files, entry);
    } else {
      await add(sums, entry.path, entry);
    }
  }
  if (!manifest) throw damaged('its end is missing');
  compare(manifest, sums, { ...files, sha256: files.sum.digest('hex') });
  checkLevel(manifest, migrations);
  return manifest;
}

/** Where a file of the backup goes, below the data dir; never outside of it, never over the database's own. */
export function pathOfFile(entry: Pick<ReadEntry, 'path'>): string {
  const path = entry.path.slice(filesFolder.length + 1);
  const parts = path.split('/');
  const odd = parts.some((part) => part === '' || part === '.' || part === '..' || /[\0\\]/.test(part));
  if (odd || !isBackedUp(parts[0] ?? '')) throw damaged(`${entry.path} is no place for a file`);
  return path;
}

async function add(sums: Map<string, Hash>, key: string, { content }: ReadEntry): Promise<void> {
  const sum = sums.get(key) ?? createHash('sha256');
  sums.set(key, sum);
  for await (const chunk of content) sum.update(chunk);
}

async function addFile(files: { count: number; bytes: number; sum: Hash }, entry: ReadEntry): Promise<void> {
  files.sum.update(fileFacts({ ...entry, path: pathOfFile(entry) }));
  files.count += entry.kind === 'file' ? 1 : 0;
  files.bytes += entry.size;
  for await (const chunk of entry.content) files.sum.update(chunk);
}

function compare(manifest: Manifest, sums: Map<string, Hash>, files: Manifest['files']): void {
  const found = new Map([...sums].map(([key, sum]) => [key, sum.digest('hex')]));
  const expected = [
    ...manifest.tables.map((table) => ({
      key: tableKey(table),
      sha256: table.sha256,
      empty: table.rows === 0,
    })),
    ...manifest.schemas.map(({ name, sha256 }) => ({ key: schemaPath(name), sha256, empty: false })),
  ];
  for (const { key, sha256, empty } of expected) {
    const sum = found.get(key);
    if (sum !== sha256 && !(empty && sum === undefined)) throw damaged(`${key} is not as it was written`);
    found.delete(key);
  }
  const [unknown] = found.keys();
  if (unknown !== undefined) throw damaged(`${unknown} is not in its list`);
  if (files.sha256 !== manifest.files.sha256 || files.count !== manifest.files.count) {
    throw damaged('its files are not as they were written');
  }
}

/** The rows fit the schema they were read from, so this version must know how to make that schema. */
function checkLevel(manifest: Manifest, migrations: readonly Migration[]): void {
  const { changed, unknown } = compareMigrations(migrations, manifest.migrations);
  if (unknown.length > 0) {
    throw fail('invalid_state_transition', {
      detail: `The backup is of a newer version (${manifest.product_version}, with ${unknown.join(', ')}): restore it with that one.`,
    });
  }
  if (changed.length > 0) {
    throw fail('invalid_state_transition', {
      detail: `The backup was made with another ${changed.join(', ')} than this version has.`,
    });
  }
}
