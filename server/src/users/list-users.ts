import type { Ctx } from '../plumbing/context.ts';
import { type UserRecord, userRecord } from './rules.ts';
import { listUserRows } from './store.ts';

/** Everyone, of all tenants and of none: for the operator. */
export async function listUsers(ctx: Pick<Ctx, 'db'>): Promise<UserRecord[]> {
  return (await listUserRows(ctx.db)).map(userRecord);
}
