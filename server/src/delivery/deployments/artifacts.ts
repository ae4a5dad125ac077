import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { declareKey } from '../../core/keys.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { fail } from '../../core/problem.ts';
import { canonicalJson, isUuid } from '../../core/values.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { Artifact, Runtime, StoredArtifact } from '../../drivers/runtime/runtime.ts';
import type { Toolchains } from '../../drivers/toolchains/toolchains.ts';
import { loadDeployedApp } from './deployment-record.ts';
import { type BuildStore, type DeploymentDeps, expiredArtifacts, isArtifactUsed } from './rules.ts';
import { deleteSourceFiles } from './source-files.ts';
import {
  type DeploymentRow,
  listKeptArtifacts,
  listRowsWithArtifact,
  listUsedArtifacts,
  toAppRef,
  updateDeploymentRow,
} from './store.ts';

export const discardTopic = 'deployments.discard';

/** Caller must hold the app's row lock. */
export async function expireArtifacts(ctx: MutationCtx, appRef: AppRef): Promise<void> {
  await releaseArtifacts(ctx, appRef, expiredArtifacts(await listRowsWithArtifact(ctx.db, appRef)));
}

/** Makes deployments unavailable for rollback and discards what no other deployment uses. Caller must hold the app's row lock. */
async function releaseArtifacts(ctx: MutationCtx, appRef: AppRef, rows: readonly DeploymentRow[]) {
  if (rows.length === 0) return;
  for (const row of rows) await updateDeploymentRow(ctx.db, row, { is_kept: false, env_sealed: null });
  await deleteSourceFiles(ctx.db, rows);
  const remaining = await listRowsWithArtifact(ctx.db, appRef);
  for (const { artifact, runtime } of rows) {
    if (artifact && runtime && !isArtifactUsed(artifact, remaining))
      ctx.enqueue(discardTopic, { tenant_id: appRef.tenantId, app_id: appRef.appId, runtime, artifact });
  }
}

const DiscardPayload = z.object({
  tenant_id: z.string(),
  app_id: z.string(),
  runtime: z.string(),
  artifact: z.record(z.string(), z.unknown()),
});

/** Checks again whether the artifact is unused: the effect may run after a rollback to it. */
export function discardArtifact({
  db,
  runtime,
  builds,
}: Pick<DeploymentDeps, 'db' | 'runtime' | 'builds'>): EffectHandler {
  return async (payload) => {
    const { tenant_id: tenantId, app_id: appId, runtime: kind, artifact } = DiscardPayload.parse(payload);
    if (kind !== runtime.kind || Object.keys(artifact).length === 0) return;
    if (isArtifactUsed(artifact, await listRowsWithArtifact(db, { tenantId, appId }))) return;
    await builds?.remove(appId, artifact);
    await runtime.discard(artifact);
  };
}

/** Artifacts are listed before rows, and apps with an open deployment skipped: an artifact in the making has no row. */
export async function deleteOrphanedArtifacts({
  db,
  runtime,
}: {
  db: Db;
  runtime: Pick<Runtime, 'kind' | 'artifacts' | 'discard'>;
}): Promise<void> {
  const stored = (await runtime.artifacts?.()) ?? [];
  if (stored.length === 0) return;
  const apps = [...new Set(stored.map(({ appId }) => appId))];
  const byApp = Map.groupBy(await listKeptArtifacts(db, apps), ({ appId }) => appId);
  for (const { appId, artifact } of stored) {
    const isKnown = byApp.get(appId)?.some((row) => row.isOpen || Bun.deepEquals(row.artifact, artifact));
    if (!isKnown) await runtime.discard(artifact);
  }
}

export async function removeUnusedToolchains({
  runtime,
  toolchains,
}: {
  runtime: Pick<Runtime, 'artifacts'>;
  toolchains: Toolchains | null;
}): Promise<void> {
  const stored = (await runtime.artifacts?.()) ?? [];
  const used = stored.flatMap(({ artifact: { tools } }) => (Array.isArray(tools) ? tools : []));
  await toolchains?.removeUnused(new Set(used));
}

export function requireSameRuntime(
  { method, runtime, seq }: Pick<DeploymentRow, 'method' | 'runtime' | 'seq'>,
  here: Pick<Runtime, 'kind'>,
): void {
  if (method === 'static' || runtime === here.kind) return;
  throw fail('runtime_unsupported', {
    detail: `Deployment #${seq} was built for the runtime ${runtime}, but apps now run on ${here.kind}: deploy again.`,
  });
}

/** Makes image names unguessable, so that a guessed name does not give access to another app's image. */
export const imageKey = declareKey({
  name: 'runtime.image_key',
  protects: 'Names of container images',
  acceptedSeconds: 3600,
});

/** Caller must hold the app's row lock. */
export async function endDeploymentRow(
  ctx: MutationCtx,
  row: DeploymentRow,
  {
    state,
    ...more
  }: { state: 'failed' | 'canceled' | 'skipped' } & Partial<
    Pick<DeploymentRow, 'step' | 'failure_code' | 'failure_step' | 'failure_detail'>
  >,
): Promise<Partial<DeploymentRow>> {
  const appRef = toAppRef(row);
  const set = { step: null, ...more, state, ended_at: ctx.now, lease_holder: null, lease_until: null };
  await updateDeploymentRow(ctx.db, row, set);
  await releaseArtifacts(ctx, appRef, [row]);
  return { ...set, is_kept: false, env_sealed: null };
}

interface BuildStoreDeps {
  db: Db;
  log: Logger;
  objects: ObjectStore;
  runtime: Runtime;
  workDir: string;
  localBytesMax?: number;
}

const gibibyte = 1024 ** 3;
const packedBytesMax = 64 * gibibyte;
const localBytesMaxDefault = 20 * gibibyte;
const fetchMsMax = 15 * 60_000;
/** A build that starts, or runs a command, was used a moment ago. */
const unusedMsMin = 3_600_000;
const buildsPrefix = 'builds/';

/** Null for a runtime whose builds are not folders, such as images of an engine. */
export function createBuildStore(deps: BuildStoreDeps): BuildStore | null {
  const { db, objects, runtime, workDir, localBytesMax = localBytesMaxDefault } = deps;
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
    if (await hasBuild?.(artifact)) return;
    const stored = await objects.get(key);
    // An artifact of a version that did not store builds: the runtime reports that it does not exist.
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
  return `${buildsPrefix}${appId}/${createHash('sha256').update(canonicalJson(artifact)).digest('hex')}`;
}

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

const leftFileMsMin = 3_600_000;

async function removeLeftFiles(workDir: string): Promise<void> {
  for (const name of await readdir(workDir)) {
    if (!/^build-[\w-]+\.tar$/.test(name)) continue;
    const facts = await stat(join(workDir, name)).catch(() => null);
    if (facts && Date.now() - facts.mtimeMs > leftFileMsMin) await rm(join(workDir, name), { force: true });
  }
}

const orphanMsMin = 24 * 3_600_000;

export async function removeOrphanBuilds({
  db,
  objects,
  now,
}: Pick<BuildStoreDeps, 'db' | 'objects'> & { now: () => Date }): Promise<void> {
  const before = now().getTime() - orphanMsMin;
  const byApp = new Map<string, string[]>();
  for await (const { key, modifiedAt } of objects.list(buildsPrefix)) {
    const appId = key.split('/')[1] ?? '';
    if (modifiedAt.getTime() < before) byApp.set(appId, [...(byApp.get(appId) ?? []), key]);
  }
  for (const [appId, keys] of byApp) {
    const kept = isUuid(appId) ? await listKeptArtifacts(db, [appId]) : [];
    const used = new Set(kept.flatMap(({ artifact }) => (artifact ? buildKey(appId, artifact) : [])));
    for (const key of keys) if (!used.has(key)) await objects.delete(key);
  }
}
