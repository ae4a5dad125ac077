import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../../plumbing/problem.ts';
import { runBun, temporaryFolder } from '../database/testing.ts';
import { describeObjectStore } from './conformance.ts';
import { openFileStore } from './file-store.ts';
import { bodyOf, letters } from './testing.ts';

setDefaultTimeout(30_000);

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
const uploadsOf = (dataDir: string) => filesBelow(join(dataDir, 'objects', 'uploads'));

/** Two MiB of it. */
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
    leftovers: async () => dataDirs.flatMap(uploadsOf).length,
  });

  test('makes nothing before the first object, and then folders that only it can read', async () => {
    const dataDir = newDataDir();
    const store = openFileStore(dataDir);
    expect([await store.stat('a'), readdirSync(dataDir)]).toEqual([null, []]);
    await store.put('a/b', bodyOf('x'), { bytesMax: 1 });
    const found = readdirSync(join(dataDir, 'objects'), { recursive: true, withFileTypes: true });
    const modes = found.map((entry) => statSync(join(entry.parentPath, entry.name)).mode & 0o077);
    expect([statSync(join(dataDir, 'objects')).mode & 0o777, new Set(modes)]).toEqual([0o700, new Set([0])]);
  });

  test('keeps its folders small, and removes those that are empty', async () => {
    const dataDir = newDataDir();
    const store = openFileStore(dataDir);
    const hashes = Array.from({ length: 600 }, (_, at) => Bun.SHA256.hash(String(at), 'hex'));
    for (const hash of hashes) await store.put(`blobs/${hash}`, bodyOf('x'), { bytesMax: 1 });
    const folders = Map.groupBy(filesBelow(join(dataDir, 'objects', 'keys')), (entry) => entry.parentPath);
    expect(Math.max(...[...folders.values()].map((files) => files.length))).toBeLessThan(20);
    for (const hash of hashes) await store.delete(`blobs/${hash}`);
    expect(readdirSync(join(dataDir, 'objects', 'keys'))).toEqual([]);
  });

  test('shows nothing of an upload whose process was killed, and removes it when it is opened again', async () => {
    const dataDir = newDataDir();
    const store = openFileStore(dataDir);
    await store.put('killed/before', bodyOf('before'), { bytesMax: 10 });
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
    expect(uploadsOf(dataDir)).toHaveLength(2);
    // Not those of a process that lives.
    openFileStore(dataDir);
    expect(uploadsOf(dataDir)).toHaveLength(2);
    child.child.kill('SIGKILL');
    await child.ended;
    const keys: string[] = [];
    for await (const { key } of store.list('')) keys.push(key);
    expect([keys, await store.stat('killed/before')]).toEqual([['killed/before'], { size: 6 }]);
    openFileStore(dataDir);
    expect(uploadsOf(dataDir)).toEqual([]);
  });

  test('removes what another machine left after a day only', async () => {
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
    'on a disk that is full is unavailable, keeps what it has, and works again when there is room',
    async () => {
      const dataDir = newDataDir();
      const unmount = mountSmallDisk(join(dataDir, 'objects'));
      try {
        const store = openFileStore(dataDir);
        await store.put('full/before', bodyOf('before'), { bytesMax: 10 });
        const bytes = 4 * 1024 * 1024;
        const error = await store
          .put('full/before', letters('x', bytes), { bytesMax: bytes })
          .catch((thrown: unknown) => thrown);
        expect(error instanceof Failure && [error.code, error.cause]).toMatchObject([
          'unavailable',
          { code: 'ENOSPC' },
        ]);
        expect([await store.stat('full/before'), uploadsOf(dataDir)]).toEqual([{ size: 6 }, []]);
        expect((await store.put('full/after', bodyOf('after'), { bytesMax: 10 })).size).toBe(5);
      } finally {
        unmount();
      }
    },
  );

  test('that can not be written says so to the operator', async () => {
    const dataDir = newDataDir();
    writeFileSync(join(dataDir, 'objects'), 'a file');
    const error = await openFileStore(dataDir)
      .check()
      .catch((thrown: unknown) => thrown);
    expect(String(error)).toMatch(
      /^Error: Objects in \S+\/objects can not be written: .*(ENOTDIR|EEXIST).*\.$/,
    );
  });
});
