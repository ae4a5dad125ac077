import {
  type AppAccess,
  type AppRef,
  type Caller,
  type Ctx,
  ownsApp,
  type TenantAccess,
} from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { orNotFound } from '../../core/problem.ts';
import { nilUuid } from '../../core/values.ts';
import { findMember } from '../../people/tenants/members.ts';
import { listAppPeople } from './people-store.ts';
import { canRestore, isAppRef, isVisibleTo } from './rules.ts';
import {
  type AppRow,
  type AppRowForUser,
  findAppById,
  findAppRow,
  findAppRowForUser,
  isInReview,
} from './store.ts';

export {
  type AppRow,
  filterFreeSlugs,
  findAppById,
  findAppBySubdomain,
  findAppRow,
  listOwnedAppIds,
  lockAppRow as lockApp,
} from './store.ts';

type TenantRef = Pick<TenantAccess, 'id' | 'role'>;
type AppQuery = { ref: string; caller: Pick<Caller, 'userId' | 'ownApp'> };

export async function findApp(db: Db, tenant: TenantRef, query: AppQuery): Promise<AppAccess | null> {
  const app = await findAppOrDeleted(db, tenant, query);
  return app?.record === 'deleted' ? null : app;
}

export async function findAppOrDeleted(db: Db, tenant: TenantRef, { ref, caller }: AppQuery) {
  const row = isAppRef(ref) ? await findAppRowForCaller(db, tenant.id, caller, ref, 'any') : undefined;
  if (!row || !isVisibleTo(row.access_visibility, row.relation, tenant.role)) return null;
  if (row.record === 'deleted' && !canRestore(row.relation, tenant.role)) return null;
  return appAccess(row);
}

export async function findAppRowForCaller(
  db: Db,
  tenantId: string,
  { userId, ownApp }: AppQuery['caller'],
  ref: string,
  records?: 'present' | 'any',
): Promise<AppRowForUser | undefined> {
  const row = await findAppRowForUser(db, tenantId, userId, ref, records);
  if (!row || !ownApp) return row;
  return row.id === ownApp.appId ? { ...row, relation: 'co_owner' } : undefined;
}

export type AppOfTenant = AppAccess & Pick<AppRow, 'runtime'>;

/** Also finds apps that the user cannot see: a table grant may open their tables. */
export async function findAppOfTenant(
  db: Db,
  tenantId: string,
  { ref, userId, ownApp }: { ref: string } & AppQuery['caller'],
): Promise<AppOfTenant | null> {
  const row = isAppRef(ref) ? await findAppRowForCaller(db, tenantId, { userId, ownApp }, ref) : undefined;
  return row ? { ...appAccess(row), runtime: row.runtime } : null;
}

export async function findOwnedAppId(db: Db, tenantId: string, query: { ref: string; userId: string }) {
  const app = await findAppOfTenant(db, tenantId, query);
  return app && ownsApp(app.relation) ? app.id : null;
}

function appAccess(row: AppRowForUser): AppAccess {
  const { id, slug, name, owner_id: ownerId, access_visibility: visibility, record, relation } = row;
  return { id, slug, name, ownerId, visibility, record, relation, previewOf: row.preview_of };
}

/**
 * The app, if the user may sign in to it: an active member of its tenant to whom it is visible. Being a tenant
 * admin is enough only while they have to review the app. Every lookup runs in each case, so that timing does not
 * reveal whether the app exists.
 */
export async function findAppForSignIn(
  ctx: Pick<Ctx, 'db'>,
  { appId, userId }: { appId: string; userId: string },
): Promise<AppAccess | null> {
  const app = await findAppById(ctx, { id: appId });
  const { member, isReviewer } = await findReviewer(ctx.db, app, userId);
  const role = isReviewer ? 'tenant_admin' : 'tenant_member';
  const tenant = { id: app?.tenantId ?? nilUuid, role } as const;
  const visible = await findApp(ctx.db, tenant, { ref: app?.id ?? nilUuid, caller: { userId } });
  return member?.status === 'active' ? visible : null;
}

export async function isReviewerOf(
  ctx: Pick<Ctx, 'db'>,
  { appId, userId }: { appId: string; userId: string },
): Promise<boolean> {
  return (await findReviewer(ctx.db, await findAppById(ctx, { id: appId }), userId)).isReviewer;
}

async function findReviewer(db: Db, app: { id: string; tenantId: string } | null, userId: string) {
  const member = await findMember(db, app?.tenantId ?? nilUuid, userId);
  const isWaiting = await isInReview(db, app?.id ?? nilUuid);
  const isReviewer = member?.status === 'active' && member.role === 'tenant_admin' && isWaiting;
  return { member, isReviewer };
}

export async function listOwnerIds(db: Db, app: AppRef): Promise<string[]> {
  const people = await listAppPeople(db, app);
  return people.flatMap(({ role, user_id }) => (role === 'member' || user_id === null ? [] : [user_id]));
}

export async function findActingOwner(
  db: Db,
  { tenantId, appId }: AppRef,
  { requestedBy }: { requestedBy: string | null },
): Promise<string> {
  const app = orNotFound(await findAppRow(db, tenantId, appId));
  if (requestedBy === null) return app.owner_id;
  const relation = (await findAppRowForUser(db, tenantId, requestedBy, appId))?.relation ?? 'none';
  const member = ownsApp(relation) ? await findMember(db, tenantId, requestedBy) : null;
  return member?.status === 'active' ? requestedBy : app.owner_id;
}
