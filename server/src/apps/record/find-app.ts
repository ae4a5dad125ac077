import {
  type AppAccess,
  type AppRef,
  type Caller,
  type Ctx,
  ownsApp,
  type TenantAccess,
} from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { nilUuid } from '../../core/values.ts';
import { findMember } from '../../people/tenants/members.ts';
import { listAppPeople } from './people-store.ts';
import { canRestore, isAppRef, isVisibleTo } from './rules.ts';
import { type AppRow, type AppRowForUser, findAppById, findAppRow, findAppRowForUser } from './store.ts';

export {
  type AppRow,
  findAppById,
  findAppBySubdomain,
  findAppRow,
  listOwnedAppIds,
  lockAppRow as lockApp,
} from './store.ts';

type TenantRef = Pick<TenantAccess, 'id' | 'role'>;
type AppQuery = { ref: string; caller: Pick<Caller, 'userId'> };

export async function findApp(db: Db, tenant: TenantRef, query: AppQuery): Promise<AppAccess | null> {
  const app = await findAppOrDeleted(db, tenant, query);
  return app?.record === 'deleted' ? null : app;
}

/** Also finds a deleted app for those who can restore it. */
export async function findAppOrDeleted(db: Db, tenant: TenantRef, { ref, caller }: AppQuery) {
  const row = isAppRef(ref) ? await findAppRowForUser(db, tenant.id, caller.userId, ref, 'any') : undefined;
  if (!row || !isVisibleTo(row.visibility, row.relation, tenant.role)) return null;
  if (row.record === 'deleted' && !canRestore(row.relation, tenant.role)) return null;
  return appAccess(row);
}

export type AppOfTenant = AppAccess & Pick<AppRow, 'runtime'>;

/** Also finds apps that the user cannot see: a table grant may reach into them. */
export async function findAppOfTenant(
  db: Db,
  tenantId: string,
  { ref, userId }: { ref: string; userId: string },
): Promise<AppOfTenant | null> {
  const row = isAppRef(ref) ? await findAppRowForUser(db, tenantId, userId, ref) : undefined;
  return row ? { ...appAccess(row), runtime: row.runtime } : null;
}

function appAccess(row: AppRowForUser): AppAccess {
  const { id, slug, name, owner_id: ownerId, visibility, record, relation } = row;
  return { id, slug, name, ownerId, visibility, record, relation };
}

/**
 * The app, if the user may sign in to it: an active member of its tenant to whom it is visible. Being a tenant
 * admin is not enough. Every lookup runs in each case, so that timing does not reveal whether the app exists.
 */
export async function findAppForSignIn(
  ctx: Pick<Ctx, 'db'>,
  { appId, userId }: { appId: string; userId: string },
): Promise<AppAccess | null> {
  const app = await findAppById(ctx, { id: appId });
  const tenant = { id: app?.tenantId ?? nilUuid, role: 'tenant_member' } as const;
  const member = await findMember(ctx.db, tenant.id, userId);
  const visible = await findApp(ctx.db, tenant, { ref: app?.id ?? nilUuid, caller: { userId } });
  return member?.status === 'active' ? visible : null;
}

/** Empty for a deleted app. */
export async function listOwnerIds(db: Db, app: AppRef): Promise<string[]> {
  const people = await listAppPeople(db, app);
  return people.flatMap(({ role, user_id }) => (role === 'member' || user_id === null ? [] : [user_id]));
}

/**
 * The user on whose behalf the platform continues an earlier request: the requester while they are an active
 * owner, otherwise the representative owner, active or not, since the request was authorized when it was made.
 */
export async function findActingOwner(
  db: Db,
  { tenantId, appId }: AppRef,
  { requestedBy }: { requestedBy: string | null },
): Promise<string> {
  const app = await findAppRow(db, tenantId, appId);
  if (!app) throw fail('not_found');
  if (requestedBy === null) return app.owner_id;
  const relation = (await findAppRowForUser(db, tenantId, requestedBy, appId))?.relation ?? 'none';
  const member = ownsApp(relation) ? await findMember(db, tenantId, requestedBy) : null;
  return member?.status === 'active' ? requestedBy : app.owner_id;
}
