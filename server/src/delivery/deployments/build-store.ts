import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Db } from '../../core/db.ts';
import { canonicalJson } from '../../core/values.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { Artifact, Runtime, StoredArtifact } from '../../drivers/runtime/runtime.ts';
import type { Toolchains } from '../../drivers/toolchains/toolchains.ts';
import { deleteOrphanedArtifacts } from './artifacts.ts';
import { loadDeployedApp } from './deployment-record.ts';
import type { BuildStore } from './deps.ts';
import { type DeploymentRow, isOpen, toAppRef } from './store.ts';

interface BuildStoreDeps {
  db: Db;
  log: Logger;
  objects: ObjectStore;
  runtime: Runtime;
  toolchains: Toolchains | null;
  workDir: string;
  localBytesMax?: number;
}

const gibibyte = 1024 ** 3;
const packedBytesMax = 64 * gibibyte;
const localBytesMaxDefault = 20 * gibibyte;
const fetchMsMax = 15 * 60_000;
/** A build that starts, or runs a command, was used a moment ago. */
const unusedMsMin = 3_600_000;
const prefix = 'builds/';

/** Null for a runtime whose builds are not folders, such as images of an engine. */
export function createBuildStore(deps: BuildStoreDeps): BuildStore | null {
  const { db, objects, runtime, toolchains, workDir, localBytesMax = localBytesMaxDefault } = deps;
  const { hasBuild, packBuild, unpackBuild, artifacts } = runtime;
  if (!hasBuild || !packBuild || !unpackBuild || !artifacts) return null;
  const fetching = new Map<string, Promise<void>>();

  async function withFile(work: (path: string) => Promise<void>): Promise<void> {
    const path = join(workDir, `build-${crypto.randomUUID()}.tar`);
    try {
      await work(path);
    } finally {
      await rm(path, { force: true });
    }
  }

  async function fetchBuild(row: DeploymentRow, artifact: Artifact, key: string): Promise<void> {
    const signal = AbortSignal.timeout(fetchMsMax);
    if (Array.isArray(artifact.tools)) await toolchains?.restore(artifact.tools, { signal });
    if (await hasBuild?.(artifact)) return;
    const stored = await objects.get(key);
    // Of a version that did not store builds: the runtime says that it does not exist.
    if (!stored) return;
    const { number } = await loadDeployedApp(db, toAppRef(row));
    await withFile(async (path) => {
      const packed = Readable.from(stored.body as unknown as AsyncIterable<Uint8Array>);
      await pipeline(packed, createZstdDecompress(), createWriteStream(path, { mode: 0o600 }), { signal });
      await unpackBuild?.(artifact, { path, number, digest: row.digest });
    });
    deps.log.info({ app: row.app_id, deployment: row.id }, 'build fetched from the object store');
  }

  return {
    async save(appId, artifact, signal) {
      // Of a site, which has a release.
      if (Object.keys(artifact).length === 0) return;
      await withFile(async (path) => {
        await packBuild(artifact, { path });
        const compressed = createZstdCompress();
        const packing = pipeline(createReadStream(path), compressed);
        packing.catch(() => {});
        await objects.put(buildKey(appId, artifact), compressed, { bytesMax: packedBytesMax, signal });
        await packing;
      });
    },
    fetch(row) {
      const { artifact } = row;
      if (!artifact || row.runtime !== runtime.kind) return Promise.resolve();
      const key = buildKey(row.app_id, artifact);
      const under = fetching.get(key) ?? fetchBuild(row, artifact, key).finally(() => fetching.delete(key));
      fetching.set(key, under);
      return under;
    },
    remove: (appId, artifact) => objects.delete(buildKey(appId, artifact)),
    async trim() {
      await removeLeftFiles(workDir);
      await deleteOrphanedArtifacts({ db, runtime });
      const inUse = await listUsedArtifacts(db, runtime.node);
      for (const { artifact } of leastUsed(await artifacts(), { inUse, localBytesMax, now: Date.now() }))
        await runtime.discard(artifact);
    },
  };
}

/** A runtime decides what is in an artifact; equal ones have one key. */
export function buildKey(appId: string, artifact: Artifact): string {
  return `${prefix}${appId}/${createHash('sha256').update(canonicalJson(artifact)).digest('hex')}`;
}

/** The ones to delete, so that the rest is within the limit. */
export function leastUsed(
  stored: readonly StoredArtifact[],
  { inUse, localBytesMax, now }: { inUse: readonly Artifact[]; localBytesMax: number; now: number },
): StoredArtifact[] {
  let bytes = stored.reduce((sum, each) => sum + (each.bytes ?? 0), 0);
  // Without a size it was never stored elsewhere.
  const removable = stored
    .filter((each) => (each.bytes ?? 0) > 0 && now - Date.parse(each.usedAt ?? '') > unusedMsMin)
    .filter(({ artifact }) => !inUse.some((used) => Bun.deepEquals(used, artifact)))
    .sort((one, other) => (one.usedAt ?? '').localeCompare(other.usedAt ?? ''));
  return removable.filter((each) => {
    if (bytes <= localBytesMax) return false;
    bytes -= each.bytes ?? 0;
    return true;
  });
}

async function listUsedArtifacts(db: Db, node: string): Promise<Artifact[]> {
  const { rows } = await sql<{ artifact: Artifact }>`
    select artifact from svc.deployments d where artifact is not null and (
      (${isOpen}) or exists (select from svc.app_instances i where i.deployment_id = d.id and i.node = ${node})
      or exists (select from svc.app_runs r where r.deployment_id = d.id and r.ended_at is null))`.execute(
    db,
  );
  return rows.map(({ artifact }) => artifact);
}

const leftFileMsMin = 3_600_000;

/** Of a server process that was killed. */
async function removeLeftFiles(workDir: string): Promise<void> {
  for (const name of await readdir(workDir)) {
    if (!/^build-[\w-]+\.tar$/.test(name)) continue;
    const facts = await stat(join(workDir, name)).catch(() => null);
    if (facts && Date.now() - facts.mtimeMs > leftFileMsMin) await rm(join(workDir, name), { force: true });
  }
}

const orphanMsMin = 24 * 3_600_000;

/** Objects of builds whose deployment was never recorded, or whose deletion failed. */
export async function removeOrphanBuilds({
  db,
  objects,
  now,
}: Pick<BuildStoreDeps, 'db' | 'objects'> & { now: () => Date }): Promise<void> {
  const before = now().getTime() - orphanMsMin;
  const byApp = new Map<string, string[]>();
  for await (const { key, modifiedAt } of objects.list(prefix)) {
    const appId = key.split('/')[1] ?? '';
    if (modifiedAt.getTime() < before) byApp.set(appId, [...(byApp.get(appId) ?? []), key]);
  }
  for (const [appId, keys] of byApp) {
    const { rows } = await sql<{ artifact: Artifact }>`
      select artifact from svc.deployments
      where app_id::text = ${appId} and artifact is not null and (is_kept or (${isOpen}))`.execute(db);
    const used = new Set(rows.map(({ artifact }) => buildKey(appId, artifact)));
    for (const key of keys) if (!used.has(key)) await objects.delete(key);
  }
}
