import type { MutationCtx } from '../plumbing/context.ts';
import { newPasswordOf } from './new-password-of.ts';
import { lockRawDbRowsKnownTo } from './store.ts';

/** As a person stops being an owner: of one app, or, leaving the tenant, of all its apps. Nobody is handed the new one. */
export async function rotateRawDbsKnownTo(
  ctx: MutationCtx,
  of: { tenantId: string; userId: string; appId?: string },
): Promise<void> {
  for (const { slug, ...row } of await lockRawDbRowsKnownTo(ctx.db, of.tenantId, of)) {
    await newPasswordOf(ctx, row, { knownTo: [], slug });
    ctx.warn(
      `The password of the own database of ${slug} changes, since they have seen it; whoever is connected is put out.`,
    );
  }
}
