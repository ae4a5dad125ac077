import { z } from 'zod';
import type { Runtime } from '../drivers/runtime/runtime.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import type { Effect } from '../plumbing/outbox.ts';
import { expiring, isUsedBy } from './rules.ts';
import { type AppPlace, type DeploymentRow, listKeptRows, updateDeploymentRow } from './store.ts';

export const discardTopic = 'deployments.discard';

/** Under the app's lock: what is live and the newest others are kept, and the rest is not. */
export async function expireArtifacts(ctx: MutationCtx, place: AppPlace): Promise<void> {
  await unkeep(ctx, place, expiring(await listKeptRows(ctx.db, place)));
}

/** Under the app's lock: they can not be gone back to any more, and what only they have built is removed. */
export async function unkeep(
  ctx: MutationCtx,
  place: AppPlace,
  rows: readonly DeploymentRow[],
): Promise<void> {
  if (rows.length === 0) return;
  // Nobody starts them again: the variables of their day are not kept either.
  for (const { id } of rows)
    await updateDeploymentRow(ctx.db, place, { id, set: { is_kept: false, env_sealed: null } });
  const left = await listKeptRows(ctx.db, place);
  for (const { artifact, runtime } of rows) {
    if (artifact && runtime && !isUsedBy(artifact, left))
      ctx.enqueue(discardTopic, { tenant_id: place.tenantId, app_id: place.appId, runtime, artifact });
  }
}

const Payload = z.object({
  tenant_id: z.string(),
  app_id: z.string(),
  runtime: z.string(),
  artifact: z.record(z.string(), z.unknown()),
});

/** May come late, and somebody may have gone back to it since: asked once more. */
export function discardArtifact({ db, runtime }: { db: Db; runtime: Runtime }): Effect {
  return async (payload) => {
    const { tenant_id: tenantId, app_id: appId, runtime: kind, artifact } = Payload.parse(payload);
    // Made by what apps ran on before; nothing here knows it.
    if (kind !== runtime.kind || Object.keys(artifact).length === 0) return;
    if (isUsedBy(artifact, await listKeptRows(db, { tenantId, appId }))) return;
    await runtime.discard(artifact);
  };
}
