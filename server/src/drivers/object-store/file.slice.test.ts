import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../../core/problem.ts';
import { runBun, temporaryFolder } from '../database/testing.ts';
import { describeObjectStore } from './conformance-testing.ts';
import { openFileStore } from './file-store.ts';
import { bodyFrom, repeatLetter } from './testing.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());
let count = 0;
const newDataDir = () => {
  const path = join(folder.path, `data-${++count}`);
  mkdirSync(path, { mode: 0o711 });
  return path;
};
const filesBelow = (path: string) =>
  existsSync(path)
    ? readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    : [];
const listUploads = (dataDir: string) => filesBelow(join(dataDir, 'objects', 'uploads'));

/** 2 MiB. */
function mountSmallDisk(path: string): () => void {
  mkdirSync(path);
  const mounted = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=2m,mode=700', 'svc-test', path]);
  if (mounted.exitCode !== 0) throw new Error(`No small disk: ${mounted.stderr}`);
  return () => void Bun.spawnSync(['umount', '-l', path]);
}

const canMount = (() => {
  try {
    mountSmallDisk(join(folder.path, 'disk'))();
    return true;
  } catch {
    return false;
  }
})();

describe('the file store', () => {
  const dataDirs: string[] = [];
  describeObjectStore({
    open: async () => {
      dataDirs.push(newDataDir());
      return openFileStore(dataDirs.at(-1) ?? '');
    },
    listedKeys: 1_100,
    largeBytes: 3_000_000,
    countUnfinished: async () => dataDirs.flatMap(listUploads).length,
  });

  test('creates folders with the first object, readable only by the server', async () => {
    const dataDir = newDataDir();
    const store = openFileStore(dataDir);
    expect([await store.stat('a'), readdirSync(dataDir)]).toEqual([null, []]);
    await store.put('a/b', bodyFrom('x'), { bytesMax: 1 });
    const found = readdirSync(join(dataDir, 'objects'), { recursive: true, withFileTypes: true });
    const modes = found.map((entry) => statSync(join(entry.parentPath, entry.name)).mode & 0o077);
    expect([statSync(join(dataDir, 'objects')).mode & 0o777, new Set(modes)]).toEqual([0o700, new Set([0])]);
  });

  test('keeps folders small and removes empty ones', async () => {
    const dataDir = newDataDir();
    const store = openFileStore(dataDir);
    const hashes = Array.from({ length: 600 }, (_, at) => Bun.SHA256.hash(String(at), 'hex'));
    for (const hash of hashes) await store.put(`blobs/${hash}`, bodyFrom('x'), { bytesMax: 1 });
    const folders = Map.groupBy(filesBelow(join(dataDir, 'objects', 'keys')), (entry) => entry.parentPath);
    expect(Math.max(...[...folders.values()].map((files) => files.length))).toBeLessThan(20);
    for (const hash of hashes) await store.delete(`blobs/${hash}`);
    expect(readdirSync(join(dataDir, 'objects', 'keys'))).toEqual([]);
  });

  test('hides the upload of a killed process and removes it on the next start', async () => {
    const dataDir = newDataDir();
    const store = openFileStore(dataDir);
    await store.put('killed/before', bodyFrom('before'), { bytesMax: 10 });
    const child = runBun(`
      import { openFileStore } from '../object-store/file-store.ts';
      const store = openFileStore(${JSON.stringify(dataDir)});
      async function* body() {
        for (let at = 0; at < 100; at += 1) yield new Uint8Array(65536);
        console.log('in the middle');
        await new Promise(() => setInterval(() => {}, 1000));
      }
      await Promise.all(['killed/before', 'killed/absent'].map((key) => store.put(key, body(), { bytesMax: 1e9 })));
    `);
    await child.line();
    await child.line();
    expect(listUploads(dataDir)).toHaveLength(2);
    // Uploads of a running process stay.
    openFileStore(dataDir);
    expect(listUploads(dataDir)).toHaveLength(2);
    child.child.kill('SIGKILL');
    await child.ended;
    const keys: string[] = [];
    for await (const { key } of store.list('')) keys.push(key);
    expect([keys, await store.stat('killed/before')]).toEqual([['killed/before'], { size: 6 }]);
    openFileStore(dataDir);
    expect(listUploads(dataDir)).toEqual([]);
  });

  test('removes uploads of another machine after a day', async () => {
    const dataDir = newDataDir();
    const elsewhere = join(dataDir, 'objects', 'uploads', 'elsewhere~1~x');
    mkdirSync(elsewhere, { recursive: true });
    for (const [name, hours] of [
      ['old', 25],
      ['new', 23],
    ] as const) {
      writeFileSync(join(elsewhere, name), 'x');
      const at = new Date(Date.now() - hours * 3_600_000);
      utimesSync(join(elsewhere, name), at, at);
    }
    openFileStore(dataDir);
    expect(readdirSync(elsewhere)).toEqual(['new']);
  });

  test.skipIf(!canMount)(
    'is unavailable on a full disk, keeps its objects, and works again with free space',
    async () => {
      const dataDir = newDataDir();
      const unmount = mountSmallDisk(join(dataDir, 'objects'));
      try {
        const store = openFileStore(dataDir);
        await store.put('full/before', bodyFrom('before'), { bytesMax: 10 });
        const bytes = 4 * 1024 * 1024;
        const error = await store
          .put('full/before', repeatLetter('x', bytes), { bytesMax: bytes })
          .catch((thrown: unknown) => thrown);
        expect(error instanceof Failure && [error.code, error.cause]).toMatchObject([
          'unavailable',
          { code: 'ENOSPC' },
        ]);
        expect([await store.stat('full/before'), listUploads(dataDir)]).toEqual([{ size: 6 }, []]);
        expect((await store.put('full/after', bodyFrom('after'), { bytesMax: 10 })).size).toBe(5);
      } finally {
        unmount();
      }
    },
  );

  test('reports a folder that is not writable', async () => {
    const dataDir = newDataDir();
    writeFileSync(join(dataDir, 'objects'), 'a file');
    const error = await openFileStore(dataDir)
      .check()
      .catch((thrown: unknown) => thrown);
    expect(String(error)).toMatch(
      /^Error: Objects in \S+\/objects cannot be written: .*(ENOTDIR|EEXIST).*\.$/,
    );
  });
});
