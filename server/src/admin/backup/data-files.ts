import { createHash } from 'node:crypto';
import { open, readdir, readlink, readFile as readText, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import { cacheFolder as buildCacheFolder } from '../../drivers/runtime/process/build-cache.ts';
import { fileHashInput, type Manifest, objectsFolder } from './manifest.ts';

const excluded: readonly RegExp[] = [
  /^postgres$/,
  /^postgres\.(json|port|commands|new-.*)$/,
  /^run$/,
  // Apps' own databases, which are read from their server.
  /^raw$/,
  /^raw-db\.port$/,
  /^toolchains$/,
  /^local-login\.json$/,
  /\.lock(\..*)?$/,
  /^logs$/,
  /\.log(\.\d+)?$/,
  /\.sock$/,
  /\.(new|next)$/,
  /^replaced-/,
  /^restoring-/,
  /\.(tar\.gz|tgz)$/,
  /\.partial-\d+$/,
];

export const objectsFolderName = 'objects';

export function isBackedUp(topName: string): boolean {
  return !excluded.some((pattern) => pattern.test(topName));
}

export interface FileEntry {
  path: string;
  kind: 'file' | 'folder' | 'link' | 'hard_link';
  target?: string;
  mode: number;
  modified: Date;
  size: number;
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export async function* dataFiles(
  dataDir: string,
  onSkipped: (path: string, why: string) => void,
): AsyncGenerator<FileEntry> {
  const found = await readdir(dataDir).catch(ifGone(() => []));
  const names = found.filter((name) => isBackedUp(name) && name !== objectsFolderName).sort();
  for (const name of names) yield* walk({ root: dataDir, onSkipped, linked: new Map() }, name);
}

interface Walk {
  root: string;
  onSkipped(path: string, why: string): void;
  linked: Map<string, string>;
}

async function* walk(from: Walk, path: string): AsyncGenerator<FileEntry> {
  const { root, onSkipped } = from;
  // Follows links in the root only (blobs on another disk).
  const facts = await stat(join(root, path)).catch(ifGone(() => null));
  if (!facts) return;
  if (facts.isFile()) {
    yield* readFile(from, path);
  } else if (facts.isDirectory()) {
    yield { path, kind: 'folder', mode: facts.mode, modified: facts.mtime, size: 0, content: [] };
    const entries = await readdir(join(root, path), { withFileTypes: true }).catch(ifGone(() => []));
    for (const entry of entries.sort(byBackupOrder(path))) {
      const inside = `${path}/${entry.name}`;
      // The next build works without its cache.
      if (isTemporary(inside) || entry.name === buildCacheFolder) continue;
      if (path === 'runtime/artifacts' && (await isBeingBuilt(join(root, inside)))) continue;
      if (entry.name.includes('\uFFFD')) onSkipped(inside, 'its name is not UTF-8');
      else if (entry.isFile() || entry.isDirectory()) yield* walk(from, inside);
      else if (entry.isSymbolicLink()) yield* readLink(from, inside);
      else if (!entry.isSocket()) onSkipped(inside, 'not a file');
    }
  } else if (!facts.isSocket()) onSkipped(path, 'not a file');
}

async function* readFile({ root, linked }: Walk, path: string): AsyncGenerator<FileEntry> {
  const handle = await open(join(root, path)).catch(ifGone(() => null));
  if (!handle) return;
  try {
    const { mode, mtime: modified, size, nlink, dev, ino } = await handle.stat();
    // An inode number may be used again for another file while the backup is made.
    const file = `${dev} ${ino} ${size} ${modified.getTime()}`;
    const target = nlink > 1 ? linked.get(file) : undefined;
    if (target !== undefined) {
      yield { path, kind: 'hard_link', target, mode, modified, size: 0, content: [] };
      return;
    }
    if (nlink > 1) linked.set(file, path);
    yield { path, kind: 'file', mode, modified, size, content: readExactly(handle, size) };
  } finally {
    await handle.close();
  }
}

async function* readLink({ root, onSkipped }: Walk, path: string): AsyncGenerator<FileEntry> {
  const target = await readlink(join(root, path)).catch(ifGone(() => null));
  if (target === null) return;
  if (isAllowedLink(path, target))
    yield { path, kind: 'link', target, mode: 0o777, modified: new Date(0), size: 0, content: [] };
  else onSkipped(path, `a link to ${target}, outside of its folder`);
}

/** Links in builds may point anywhere, such as `.venv/bin/python`: only the app follows them, with its own rights. */
const isOfApp = /^runtime\/(?:artifacts|homes)\/[^/]+\//;

/** Any other link stays in its folder of the data dir: no `..` follows a name, which may be that of a link. */
export function isAllowedLink(path: string, target: string): boolean {
  if (target === '' || target.includes('\0')) return false;
  if (isOfApp.test(path)) return true;
  const steps = target.split('/').filter((step) => step !== '' && step !== '.');
  const names = steps.slice(steps.findIndex((step) => step !== '..'));
  if (posix.isAbsolute(target) || names.includes('..')) return false;
  return posix.join(posix.dirname(path), target).startsWith(`${path.split('/')[0]}/`);
}

export type Handle = Awaited<ReturnType<typeof open>>;

export async function* readExactly(handle: Handle, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; ) {
    const buffer = Buffer.allocUnsafe(Math.min(256 * 1024, size - at));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** By name, but the objects of a git repository after its refs, so that a concurrent push leaves no dangling ref. */
function byBackupOrder(path: string): (a: { name: string }, b: { name: string }) => number {
  const key = ({ name }: { name: string }) =>
    path.endsWith('.git') && name === 'objects' ? `~${name}` : name;
  return (a, b) => (key(a) < key(b) ? -1 : 1);
}

/** Files of builds and instances that run. A lock file would stay for ever in a restored repository. */
function isTemporary(path: string): boolean {
  return /^runtime\/(?:run|work)\//.test(path) || /^git\/[^/]+\.git\/.*\.lock$/.test(path);
}

/** Files of a running build change while they are read; a restored server builds again. */
async function isBeingBuilt(build: string): Promise<boolean> {
  const note = await readText(`${build.replace(/\.json$/, '')}.json`, 'utf8').catch(ifGone(() => '{}'));
  return JSON.parse(note).state === 'building';
}

function ifGone<T>(otherwise: () => T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return otherwise();
    throw error;
  };
}

/** Objects are never changed, and exist before the rows that name them: reading them after the snapshot misses none. */
export async function* objectEntries(
  store: ObjectStore,
  { manifest, progress }: { manifest: Manifest; progress(bytes: number): void },
): AsyncGenerator<FileEntry> {
  const hash = createHash('sha256');
  for await (const { key, modifiedAt } of store.list('')) {
    const found = await store.get(key);
    // Deleted since it was listed.
    if (!found) continue;
    const { size } = found;
    const entry = { path: key, kind: 'file', mode: 0o600, modified: modifiedAt, size } as const;
    hash.update(fileHashInput(entry));
    manifest.objects.count += 1;
    manifest.objects.bytes += size;
    const content = async function* () {
      for await (const chunk of readObject(store, { key, size, first: found.body })) {
        hash.update(chunk);
        progress(chunk.byteLength);
        yield chunk;
      }
    };
    yield { ...entry, path: `${objectsFolder}/${key}`, content: content() };
  }
  manifest.objects.sha256 = hash.digest('hex');
}

const readTriesMax = 3;

async function* readObject(
  store: ObjectStore,
  { key, size, first }: { key: string; size: number; first: ReadableStream<Uint8Array> },
): AsyncGenerator<Uint8Array> {
  let body: ReadableStream<Uint8Array> | undefined = first;
  let at = 0;
  for (let tries = 1; ; ) {
    const from = at;
    try {
      body ??= (await store.get(key, { start: at, end: size - 1 }))?.body;
      if (!body) throw new Error(`The object ${key} was deleted while it was read.`);
      for await (const chunk of body) {
        at += chunk.byteLength;
        yield chunk;
      }
      if (at >= size) return;
      throw new Error(`The object ${key} ended after ${at} of ${size} bytes.`);
    } catch (error) {
      tries = at > from ? 1 : tries + 1;
      if (tries > readTriesMax) throw error;
      body = undefined;
    }
  }
}

export async function measureObjects(store: ObjectStore): Promise<{ count: number; bytes: number }> {
  const found = { count: 0, bytes: 0 };
  for await (const { size } of store.list('')) {
    found.count += 1;
    found.bytes += size;
  }
  return found;
}
