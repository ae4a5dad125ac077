import type { MutationCtx } from '../plumbing/context.ts';
import { removeObjects } from './remove-objects.ts';
import { deleteIconRowsOfApp } from './store.ts';

/** With its app. Those that were there before it are swept, as nothing refers to them any more. */
export async function purgeIcons(
  ctx: MutationCtx,
  { tenantId, appId }: { tenantId: string; appId: string },
): Promise<{ icons: number }> {
  const icons = await deleteIconRowsOfApp(ctx.db, tenantId, appId);
  removeObjects(ctx, icons);
  return { icons: icons.length };
}
