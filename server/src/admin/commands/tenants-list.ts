import { listTenants } from '../../tenants/list-tenants.ts';
import type { AdminCtx, Result } from '../command.ts';
import { withSystem } from '../system.ts';
import { textTable } from '../table.ts';

export async function run(ctx: AdminCtx): Promise<Result> {
  const items = await withSystem(ctx, listTenants);
  return {
    json: { items, total: items.length },
    text: textTable(['slug', 'name', 'max_resource_tier', 'created_at', 'id'], items),
  };
}
