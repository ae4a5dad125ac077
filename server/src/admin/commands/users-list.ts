import { listUsers } from '../../users/list-users.ts';
import type { AdminCtx, Result } from '../command.ts';
import { withSystem } from '../system.ts';
import { textTable } from '../table.ts';

export async function run(ctx: AdminCtx): Promise<Result> {
  const items = await withSystem(ctx, listUsers);
  return { json: { items, total: items.length }, text: textTable(['email', 'name', 'status', 'id'], items) };
}
