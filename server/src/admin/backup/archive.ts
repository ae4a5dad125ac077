import { createHash } from 'node:crypto';
import { createWriteStream, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { tarEnd, tarHeaderBlocks, tarPadding } from '@svc/contract/tar.ts';
import { Decrypter, Encrypter } from 'age-encryption';
import { type ClientBase, escapeIdentifier as ident } from 'pg';
import { validationError } from '../../core/problem.ts';
import { syncToDisk } from '../../drivers/os/files.ts';
import { answersSignals } from '../../drivers/os/processes.ts';
import { type CopyOut, copyOut } from './copy-out.ts';
import type { FileEntry } from './data-files.ts';
import { type Manifest, schemaPath, tablePath } from './manifest.ts';
import { dumpSchema, listAppSchemas, listTables, type TableFacts } from './snapshot.ts';

export async function writeArchive(
  target: {
    file: string;
    encrypt: ((bytes: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>) | null;
    onInterrupt(undo: () => void): () => void;
  },
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  const file = resolve(target.file);
  checkTarget(file);
  removeStalePartials(file);
  const partial = `${file}.partial-${process.pid}`;
  const remove = () => rmSync(partial, { force: true });
  const forget = target.onInterrupt(remove);
  try {
    const output = createWriteStream(partial, { flags: 'wx', mode: 0o600 });
    const gzip = createGzip({ level: 4 });
    await (target.encrypt ? pipeline(bytes, gzip, target.encrypt, output) : pipeline(bytes, gzip, output));
    const { size } = statSync(partial);
    syncToDisk(partial);
    renameSync(partial, file);
    syncToDisk(dirname(file));
    return size;
  } catch (error) {
    remove();
    throw error;
  } finally {
    forget();
  }
}

function checkTarget(file: string): void {
  const folder = statSync(dirname(file), { throwIfNoEntry: false });
  if (!folder?.isDirectory()) throw validationError('to', `folder ${dirname(file)} does not exist`);
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
    throw validationError('to', `${file} is a folder`);
}

function removeStalePartials(file: string): void {
  for (const name of readdirSync(dirname(file))) {
    const [, start, pid] = /^(.+)\.partial-(\d+)$/.exec(name) ?? [];
    if (start === basename(file) && !answersSignals(Number(pid)))
      rmSync(join(dirname(file), name), { force: true });
  }
}

export function tarEntry(path: string, content: Uint8Array, modified: Date): FileEntry {
  return { path, kind: 'file', mode: 0o600, modified, size: content.byteLength, content: [content] };
}

export async function* schemaEntries(
  client: ClientBase,
  { rowsRole, at, manifest }: { rowsRole: string; at: Date; manifest: Manifest },
): AsyncGenerator<FileEntry> {
  for (const schema of await listAppSchemas(client)) {
    const { dump, leftOut } = await dumpSchema(client, { schema, rowsRole });
    const text = Buffer.from(`${JSON.stringify(dump, null, 1)}\n`);
    manifest.schemas.push({ name: schema, sha256: createHash('sha256').update(text).digest('hex') });
    manifest.left_out.push(...leftOut);
    yield tarEntry(schemaPath(schema), text, at);
  }
}

export async function* tableEntries(
  client: ClientBase,
  { includes, at, manifest }: { includes: (table: TableFacts) => boolean; at: Date; manifest: Manifest },
): AsyncGenerator<FileEntry> {
  for (const table of (await listTables(client)).filter(includes)) {
    const hash = createHash('sha256');
    const copy = copyTable(client, table);
    let bytes = 0;
    let piece = 0;
    for await (const part of copy) {
      hash.update(part);
      bytes += part.length;
      yield tarEntry(tablePath(table, piece++), part, at);
    }
    manifest.tables.push({ ...table, rows: copy.rows(), bytes, sha256: hash.digest('hex') });
  }
}

export function copyTable(client: ClientBase, table: TableFacts): CopyOut {
  // PostgreSQL rejects an empty list of columns.
  const columns = table.columns.length > 0 ? ` (${table.columns.map(ident).join(', ')})` : '';
  return copyOut(client, `copy ${qualifiedName(table)}${columns} to stdout`);
}

export async function readSequences(
  client: ClientBase,
  includes: (sequence: { schema: string }) => boolean,
): Promise<Manifest['sequences']> {
  const { rows } = await client.query<{ schema: string; name: string }>(
    `select n.nspname as schema, c.relname as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'S' order by 1, 2`,
  );
  return await readSequenceStates(client, rows.filter(includes));
}

export async function readSequenceStates(
  client: ClientBase,
  sequences: readonly { schema: string; name: string }[],
): Promise<Manifest['sequences']> {
  const found: Manifest['sequences'] = [];
  for (const sequence of sequences) {
    const state = await client.query<{ last_value: string; is_called: boolean }>(
      `select last_value::text, is_called from ${qualifiedName(sequence)}`,
    );
    const [{ last_value, is_called } = { last_value: '1', is_called: false }] = state.rows;
    found.push({ ...sequence, last_value, is_called });
  }
  return found;
}

export function qualifiedName({ schema, name }: { schema: string; name: string }): string {
  return `${ident(schema)}.${ident(name)}`;
}

const tarTypes = { file: '0', hard_link: '1', link: '2', folder: '5' } as const;

export async function* tarBytes(entries: AsyncIterable<FileEntry>): AsyncGenerator<Uint8Array> {
  for await (const { path, kind, target: linkName = '', mode, modified, size, content } of entries) {
    const name = kind === 'folder' ? `${path}/` : path;
    yield* tarHeaderBlocks({ name, type: tarTypes[kind], linkName, size, mode, modified });
    let written = 0;
    for await (const chunk of content) {
      written += chunk.byteLength;
      yield chunk;
    }
    if (written !== size) throw new Error(`${path} changed while it was read.`);
    yield tarPadding(size);
  }
  yield tarEnd();
}

type Bytes = AsyncIterable<Uint8Array>;

export function createEncryption(recipients: readonly string[]): (bytes: Bytes) => Bytes {
  const encrypter = new Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch {
      throw validationError('recipient', `${recipient} is not a public key of age, such as age1…`);
    }
  }
  return async function* (bytes) {
    yield* await encrypter.encrypt(toStream(bytes));
  };
}

const header = Buffer.from('age-encryption.org/');

export async function isEncrypted(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(header.length), 0, header.length, 0);
    return buffer.equals(header);
  } finally {
    await handle.close();
  }
}

export function readIdentities(path: string): string[] {
  const lines = readText(path)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (lines.length === 0) throw validationError('identity', `${path} contains no identity`);
  return lines;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw validationError(
      'identity',
      `file ${path} cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
}

export async function* decryptBytes(bytes: Bytes, identities: readonly string[]): AsyncGenerator<Uint8Array> {
  if (identities.length === 0)
    throw validationError('identity', 'is required, because the backup is encrypted');
  const decrypter = new Decrypter();
  for (const identity of identities) {
    try {
      decrypter.addIdentity(identity);
    } catch {
      throw validationError(
        'identity',
        'contains a line that is not an identity of age, such as AGE-SECRET-KEY-1…',
      );
    }
  }
  const decrypted = await decrypter.decrypt(toStream(bytes)).catch((error: unknown) => {
    if (!String(error).includes('no identity matched')) throw error;
    throw validationError('identity', 'does not open the backup, which is encrypted for others');
  });
  yield* decrypted;
}

function toStream(bytes: Bytes): ReadableStream<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await iterator.return?.()),
  });
}
