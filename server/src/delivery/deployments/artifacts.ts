import { sql } from 'kysely';
import { z } from 'zod';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { declareKey } from '../../core/keys.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { fail } from '../../core/problem.ts';
import type { Artifact, Runtime } from '../../drivers/runtime/runtime.ts';
import type { Toolchains } from '../../drivers/toolchains/toolchains.ts';
import type { DeploymentDeps } from './deps.ts';
import { expiredArtifacts, isArtifactUsed } from './rules.ts';
import { deleteSourceFiles } from './sources-store.ts';
import { type DeploymentRow, isOpen, listRowsWithArtifact, toAppRef, updateDeploymentRow } from './store.ts';

export const discardTopic = 'deployments.discard';

/** Caller must hold the app's row lock. */
export async function expireArtifacts(ctx: MutationCtx, appRef: AppRef): Promise<void> {
  await releaseArtifacts(ctx, appRef, expiredArtifacts(await listRowsWithArtifact(ctx.db, appRef)));
}

/** Makes deployments unavailable for rollback and discards what no other deployment uses. Caller must hold the app's row lock. */
export async function releaseArtifacts(ctx: MutationCtx, appRef: AppRef, rows: readonly DeploymentRow[]) {
  if (rows.length === 0) return;
  for (const row of rows) await updateDeploymentRow(ctx.db, row, { is_kept: false, env_sealed: null });
  await deleteSourceFiles(ctx.db, rows);
  const remaining = await listRowsWithArtifact(ctx.db, appRef);
  for (const { artifact, runtime } of rows) {
    if (artifact && runtime && !isArtifactUsed(artifact, remaining))
      ctx.enqueue(discardTopic, { tenant_id: appRef.tenantId, app_id: appRef.appId, runtime, artifact });
  }
}

const Payload = z.object({
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
    const { tenant_id: tenantId, app_id: appId, runtime: kind, artifact } = Payload.parse(payload);
    // Built by a runtime that is no longer configured.
    if (kind !== runtime.kind || Object.keys(artifact).length === 0) return;
    if (isArtifactUsed(artifact, await listRowsWithArtifact(db, { tenantId, appId }))) return;
    await builds?.remove(appId, artifact);
    await runtime.discard(artifact);
  };
}

/**
 * Deletes artifacts that no deployment has, such as those of a build whose lease was lost. Artifacts are listed before rows
 * are read, and apps with an open deployment are skipped, because an artifact in the making has no row yet.
 */
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
  const { rows } = await sql<{ appId: string; artifact: Artifact | null; isOpen: boolean }>`
    select app_id as "appId", artifact, (${isOpen}) as "isOpen" from svc.deployments
    where app_id = any(${apps}::uuid[]) and (is_kept or (${isOpen}))`.execute(db);
  const byApp = Map.groupBy(rows, ({ appId }) => appId);
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
