import { expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { useFolder } from '../../../../scripts/use-fixture.ts';
import { openFileStore } from '../../drivers/object-store/file-store.ts';
import { buildKey, createBuildStore, leastUsed, removeOrphanBuilds } from './artifacts.ts';
import { loadDeployedApp } from './deployment-record.ts';
import { useDeployments } from './testing.ts';

const { database, server, newWorld, nodeApp, folder, start, stop } = useDeployments();
const bucket = useFolder();
const objects = openFileStore(bucket);

function storeOf({ deps }: Pick<typeof server, 'deps'>) {
  const store = createBuildStore({ ...deps, objects });
  if (!store) throw new Error('This runtime has no builds to store.');
  return store;
}

/** After all deployments, which it would build. */
async function startElsewhere(name: string) {
  const dataDir = join(folder, name);
  mkdirSync(dataDir, { mode: 0o711 });
  return start({ dataDir });
}

test('a build is fetched once where it is missing, and starts there', async () => {
  const t = await newWorld();
  const row = await t.live(nodeApp('moved'));
  const other = await startElsewhere('other');
  const artifact = row.artifact ?? {};
  await storeOf(server).save(t.app.id, artifact, AbortSignal.timeout(60_000));
  const there = storeOf(other);
  await Promise.all([there.fetch(row), there.fetch(row), storeOf(other).fetch(row)]);
  expect(await other.runtime.hasBuild?.(artifact)).toBe(true);
  const [stored] = (await other.runtime.artifacts?.()) ?? [];
  expect([stored?.appId, stored?.artifact, (stored?.bytes ?? 0) > 0]).toEqual([t.app.id, artifact, true]);
  const run = await other.runtime.run({
    ...t.appRef,
    deploymentId: row.id,
    runId: Bun.randomUUIDv7(),
    number: (await loadDeployedApp(database.db, t.appRef)).number,
    method: 'docker',
    artifact,
    env: {},
    limits: { cpu: 1, memoryMb: 256, diskMb: 256 },
    command: 'test -f server.cjs',
    timeoutMs: 60_000,
    log: () => {},
    signal: new AbortController().signal,
  });
  expect(run.exitCode).toBe(0);
  await stop(other);
});

test('a build that was changed in the store is refused', async () => {
  const [one, two] = [await newWorld(), await newWorld()];
  const [row, changed] = [await one.live(nodeApp('one')), await two.live(nodeApp('two'))];
  await storeOf(server).save(two.app.id, changed.artifact ?? {}, AbortSignal.timeout(60_000));
  const forged = await objects.get(buildKey(two.app.id, changed.artifact ?? {}));
  await objects.put(buildKey(one.app.id, row.artifact ?? {}), forged!.body, { bytesMax: 1e9 });
  const other = await startElsewhere('refused');
  expect(await storeOf(other).fetch(row).catch(String)).toContain('is not what was built');
  expect(await other.runtime.hasBuild?.(row.artifact ?? {})).toBe(false);
  await stop(other);
});

test('stored builds that no deployment has are deleted after a day', async () => {
  const t = await newWorld();
  const { artifact } = await t.live(nodeApp('kept'));
  const store = storeOf(server);
  await store.save(t.app.id, artifact ?? {}, AbortSignal.timeout(60_000));
  const orphan = buildKey(t.app.id, { buildId: 'never recorded' });
  await objects.put(orphan, new Blob(['x']).stream(), { bytesMax: 10 });
  await removeOrphanBuilds({ db: database.db, objects, now: () => new Date() });
  expect(await objects.stat(orphan)).not.toBeNull();
  await removeOrphanBuilds({ db: database.db, objects, now: () => new Date(Date.now() + 25 * 3_600_000) });
  expect([await objects.stat(orphan), await objects.stat(buildKey(t.app.id, artifact ?? {}))]).toEqual([
    null,
    expect.any(Object),
  ]);
});

test('beyond the limit, the least used builds go, but none that runs or was just used', () => {
  const now = Date.parse('2026-01-02T00:00:00Z');
  const stored = (id: string, bytes: number, usedAt: string) => ({
    appId: 'a',
    artifact: { id },
    bytes,
    usedAt,
  });
  const all = [
    stored('running', 50, '2026-01-01T00:00:00Z'),
    stored('old', 50, '2026-01-01T01:00:00Z'),
    stored('older', 50, '2026-01-01T00:30:00Z'),
    stored('recent', 50, '2026-01-01T23:59:00Z'),
    stored('of unknown size', 0, '2025-01-01T00:00:00Z'),
  ];
  const gone = (localBytesMax: number) =>
    leastUsed(all, { inUse: [{ id: 'running' }], localBytesMax, now }).map(({ artifact }) => artifact.id);
  expect([gone(200), gone(150), gone(0)]).toEqual([[], ['older'], ['older', 'old']]);
});
