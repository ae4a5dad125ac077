import type { AppRelation } from '@svc/contract/endpoint.ts';
import type { TaggedCache } from '../../core/cache.ts';
import {
  type AppAccess,
  type AppCtx,
  type AppMutationCtx,
  type Caller,
  satisfiesRelation,
  type TenantAccess,
} from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { appTag, userTag } from '../../core/tags.ts';
import { isUuid } from '../../core/values.ts';
import { findMember } from '../../people/tenants/members.ts';
import { findApp, findAppOrDeleted, findAppRowForCaller } from './find-app.ts';
import { isVisibleTo } from './rules.ts';
import { type AppRow, lockAppRow } from './store.ts';

export function createAppAccess({ db, cache }: { db: Db; cache: TaggedCache<AppAccess> }) {
  return (
    tenant: Pick<TenantAccess, 'id' | 'role'>,
    ref: string,
    caller: Pick<Caller, 'userId' | 'ownApp'>,
  ): Promise<AppAccess | null> => {
    // The role is part of the key: an admin sees apps that a member does not.
    const key = `${tenant.id} ${tenant.role} ${caller.userId} ${isUuid(ref) ? ref.toLowerCase() : ref}`;
    return cache.get(key, async () => {
      const app = await findAppOrDeleted(db, tenant, { ref, caller });
      return app ? { value: app, tags: [appTag(app.id), userTag(caller.userId)] } : null;
    });
  };
}

/** Takes no lock: access that was revoked during a wait ends at once and does not wait for concurrent changes. */
export async function recheckApp(
  { db, tenant: { id }, app: { id: ref }, caller }: Pick<AppCtx, 'db' | 'tenant' | 'app' | 'caller'>,
  { required }: { required: 'owners' | 'owners_or_admin' },
): Promise<AppAccess> {
  const member = orNotFound(await findCallerRole(db, id, caller));
  const app = orNotFound(await findApp(db, { id, role: member.role }, { ref, caller }));
  if (!satisfiesRelation(required, app, member)) throw fail('forbidden');
  return app;
}

async function findCallerRole(
  db: Db,
  tenantId: string,
  { userId, ownApp }: Caller,
): Promise<Pick<TenantAccess, 'role'> | null> {
  if (ownApp) return ownApp.tenantId === tenantId ? { role: 'tenant_member' } : null;
  const member = await findMember(db, tenantId, userId);
  return member?.status === 'active' ? member : null;
}

export type LockedApp = AppRow & { relation: AppAccess['relation']; callerRole: TenantAccess['role'] };

/**
 * Locks the app and checks the caller's relation again: ownership may have changed while waiting for the lock.
 * `any` also finds deleted apps. The operator, who executes what was authorized earlier, keeps the rights of
 * its context.
 */
export async function lockAppFor(
  ctx: AppMutationCtx,
  { required, records = 'present' }: { required: AppRelation; records?: 'present' | 'any' },
): Promise<LockedApp> {
  const { db, tenant, caller } = ctx;
  if (!(await lockAppRow(db, tenant.id, ctx.app.id, records))) throw fail('not_found');
  const app = orNotFound(await findAppRowForCaller(db, tenant.id, caller, ctx.app.id, records));
  let locked: LockedApp = { ...app, relation: ctx.app.relation, callerRole: tenant.role };
  if (caller.kind !== 'operator') {
    const member = await findCallerRole(db, tenant.id, caller);
    if (!member || !isVisibleTo(app.access_visibility, app.relation, member.role)) throw fail('not_found');
    locked = { ...app, callerRole: member.role };
  }
  if (!satisfiesRelation(required, locked, { role: locked.callerRole })) throw fail('forbidden');
  return locked;
}
