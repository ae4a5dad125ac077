import type { AppRelation } from '@svc/contract/endpoint.ts';
import type { AppAccess, AppMutationCtx, TenantAccess } from '../plumbing/context.ts';
import { isEnough } from '../plumbing/is-enough.ts';
import { fail } from '../plumbing/problem.ts';
import { findMember } from '../tenants/find-member.ts';
import { reaches } from './rules.ts';
import { type AppRow, findAppRowOf, lockAppRow } from './store.ts';

export type HeldApp = AppRow & { relation: AppAccess['relation']; callerRole: TenantAccess['role'] };

/**
 * The app under its lock, once more with what the caller is to it: who was let through may have handed it over or been
 * taken out while waiting. `wanted` is what the endpoint asks; `any` also finds deleted ones. The platform itself, which
 * carries out what was allowed earlier, has the rights of its context, and is a member of nothing.
 */
export async function holdApp(
  ctx: AppMutationCtx,
  { wanted, records = 'present' }: { wanted: AppRelation; records?: 'present' | 'any' },
): Promise<HeldApp> {
  const { db, tenant, caller } = ctx;
  if (!(await lockAppRow(db, tenant.id, ctx.app.id, records))) throw fail('not_found');
  if (caller.kind === 'operator') {
    const app = await findAppRowOf(db, tenant.id, caller.userId, ctx.app.id, records);
    if (!app) throw fail('not_found');
    const held = { ...app, relation: ctx.app.relation, callerRole: tenant.role };
    if (!isEnough(wanted, held, tenant)) throw fail('forbidden');
    return held;
  }
  const member = await findMember(db, tenant.id, caller.userId);
  if (member?.status !== 'active') throw fail('not_found');
  const app = await findAppRowOf(db, tenant.id, caller.userId, ctx.app.id, records);
  if (!app || !reaches(app.visibility, app.relation, member.role)) throw fail('not_found');
  if (!isEnough(wanted, app, member)) throw fail('forbidden');
  return { ...app, callerRole: member.role };
}
