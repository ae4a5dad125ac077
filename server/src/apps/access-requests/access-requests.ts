import type { AccessRequest, listAccessRequests as listShape } from '@svc/contract/access-requests.shapes.ts';
import { accessRequestDaysMin, type accessRequestStatuses } from '@svc/contract/access-requests.ts';
import { consolePaths } from '@svc/contract/console-paths.ts';
import type { z } from 'zod';
import {
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  appRef,
  type Ctx,
  type MutationCtx,
  type TenantMutationCtx,
} from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { fetchPage, type PageWindow, pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { daysAfter, nilUuid } from '../../core/values.ts';
import { findMember } from '../../people/tenants/members.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { findUsers } from '../../people/users/users.ts';
import { appendMessage, notify } from '../notifications/notifications.ts';
import { lockAppFor } from '../record/app-access.ts';
import { type AppOfTenant, findAppById, findAppOfTenant, listOwnerIds, lockApp } from '../record/find-app.ts';
import { addAppMember } from '../record/people.ts';

type AccessRequestStatus = (typeof accessRequestStatuses)[number];

interface AccessRequestRow {
  id: string;
  tenant_id: string;
  app_id: string;
  user_id: string;
  status: AccessRequestStatus;
  note: string;
  requested_at: Date;
  decided_by: string | null;
  decided_at: Date | null;
}
type Tables = { access_requests: AccessRequestRow };

function selectRequests(db: Db, { tenantId, appId }: AppRef) {
  return db
    .withTables<Tables>()
    .selectFrom('access_requests')
    .where((row) => row.and({ tenant_id: tenantId, app_id: appId }));
}

function listRequestRows(
  db: Db,
  app: AppRef,
  { status, window }: { status: AccessRequestStatus; window: PageWindow },
): Promise<{ rows: AccessRequestRow[]; total: number }> {
  const matching = selectRequests(db, app).selectAll().where('status', '=', status);
  return fetchPage(matching.orderBy('requested_at', 'desc').orderBy('id', 'desc'), window);
}

function findRequestRow(db: Db, app: AppRef, id: string): Promise<AccessRequestRow | undefined> {
  return selectRequests(db, app).selectAll().where('id', '=', id).executeTakeFirst();
}

function findLatestRequestRow(db: Db, app: AppRef, userId: string): Promise<AccessRequestRow | undefined> {
  return selectRequests(db, app)
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('requested_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

async function insertRequestRow(tx: Tx, row: AccessRequestRow): Promise<void> {
  await tx.withTables<Tables>().insertInto('access_requests').values(row).execute();
}

async function updateRequestRow(
  tx: Tx,
  { id }: Pick<AccessRequestRow, 'id'>,
  set: Pick<AccessRequestRow, 'status' | 'decided_by' | 'decided_at'>,
): Promise<void> {
  await tx.withTables<Tables>().updateTable('access_requests').set(set).where('id', '=', id).execute();
}

async function deletePendingRequestRows(tx: Tx, { tenantId, userId }: { tenantId: string; userId: string }) {
  await tx
    .withTables<Tables>()
    .deleteFrom('access_requests')
    .where((row) => row.and({ tenant_id: tenantId, user_id: userId, status: 'pending' }))
    .execute();
}

type RequestRecord = z.output<typeof AccessRequest>;

/** Null in all other cases, which must look alike: every lookup runs in each case, so that timing reveals nothing. */
export async function findRequestableApp(
  ctx: Pick<Ctx, 'db'>,
  { appId, userId }: { appId: string | null; userId: string },
): Promise<{ tenantSlug: string; appSlug: string } | null> {
  const app = await findAppById(ctx, { id: appId ?? nilUuid });
  const tenantId = app?.tenantId ?? nilUuid;
  const tenant = await findTenant(ctx, { ref: tenantId });
  const member = await findMember(ctx.db, tenantId, userId);
  const found = await findAppOfTenant(ctx.db, tenantId, { ref: appId ?? nilUuid, userId });
  if (!tenant?.access_requests || member?.status !== 'active' || !found || !takesRequests(found)) return null;
  return found.relation === 'none' ? { tenantSlug: tenant.slug, appSlug: found.slug } : null;
}

function takesRequests({ record, visibility, previewOf }: AppOfTenant): boolean {
  return record === 'active' && visibility === 'invite_only' && previewOf === null;
}

export async function requestAccess(ctx: TenantMutationCtx, input: { app: string; note: string }) {
  const { db, tenant, caller } = ctx;
  const settings = await findTenant(ctx, { ref: tenant.id });
  const found = await findAppOfTenant(db, tenant.id, { ref: input.app, userId: caller.userId });
  const isOpen = settings?.access_requests && found !== null && takesRequests(found);
  if (!isOpen || !(await lockApp(db, tenant.id, found.id))) throw fail('not_found');
  if (found.relation !== 'none')
    throw fail('unique_violation', { detail: `You can already see ${found.slug}.` });
  const ref = { tenantId: tenant.id, appId: found.id };
  const entry = requestEntry('accessRequests.create', found);
  const latest = await findLatestRequestRow(db, ref, caller.userId);
  if (latest?.status === 'pending') {
    ctx.audit({ ...entry, before: {}, after: {} });
    return { ...(await requestRecord(ctx, latest)), changed: false as const };
  }
  const nextAt = daysAfter(latest?.decided_at ?? new Date(0), accessRequestDaysMin);
  if (latest?.status === 'refused' && nextAt > ctx.now)
    throw fail('settled', {
      detail: `The owners refused your request. You can ask again after ${nextAt.toISOString().slice(0, 10)}.`,
    });
  const row: AccessRequestRow = {
    id: ctx.newId(),
    tenant_id: tenant.id,
    app_id: found.id,
    user_id: caller.userId,
    status: 'pending',
    note: input.note,
    requested_at: ctx.now,
    decided_by: null,
    decided_at: null,
  };
  await insertRequestRow(db, row);
  ctx.audit({ ...entry, before: null, after: { status: row.status, user: caller.email, note: row.note } });
  await notify(ctx, {
    tenantId: tenant.id,
    appId: found.id,
    kind: 'app_access_requested',
    userIds: await listOwnerIds(db, ref),
    title: `${caller.email} asks for access to ${found.name}`,
    text: appendMessage('Accept or refuse the request among the people of the app.', row.note),
    path: consolePaths.app(tenant.slug, found.slug, 'people'),
  });
  return requestRecord(ctx, row);
}

function requestEntry(action: string, app: { id: string; slug: string }) {
  return { action, appId: app.id, target: { kind: 'app', id: app.id, name: app.slug } };
}

export async function listAccessRequests(ctx: AppCtx, query: z.output<typeof listShape.query>) {
  const { rows, total } = await listRequestRows(ctx.db, appRef(ctx), {
    status: query.status,
    window: pageWindow(query),
  });
  return toPage(query, await requestRecords(ctx, rows), total);
}

export async function acceptAccessRequest(ctx: AppMutationCtx, { id }: { id: string }) {
  return decide(ctx, { id, status: 'accepted' });
}

export async function refuseAccessRequest(ctx: AppMutationCtx, { id }: { id: string }) {
  return decide(ctx, { id, status: 'refused' });
}

async function decide(
  ctx: AppMutationCtx,
  { id, status }: { id: string; status: 'accepted' | 'refused' },
): Promise<RequestRecord & { changed?: false }> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  const ref = appRef(ctx);
  const row = orNotFound(await findRequestRow(ctx.db, ref, id));
  const entry = requestEntry(status === 'accepted' ? 'accessRequests.accept' : 'accessRequests.refuse', app);
  const record = await requestRecord(ctx, row);
  if (row.status === status) {
    ctx.audit({ ...entry, before: {}, after: {} });
    return { ...record, changed: false };
  }
  if (row.status !== 'pending') throw fail('settled', { detail: `The request is ${row.status}.` });
  if (status === 'accepted') await addAppMember(ctx, { user_id: row.user_id });
  const set = { status, decided_by: ctx.caller.userId, decided_at: ctx.now };
  await updateRequestRow(ctx.db, row, set);
  ctx.audit({
    ...entry,
    before: { status: row.status },
    after: { status, user: record.email },
  });
  await notify(ctx, {
    ...ref,
    kind: status === 'accepted' ? 'app_access_accepted' : 'app_access_refused',
    userIds: [row.user_id],
    title: status === 'accepted' ? `You can use ${app.name}` : `No access to ${app.slug}`,
    text: `${ctx.caller.email} ${status} your request.`,
    path:
      status === 'accepted'
        ? consolePaths.app(ctx.tenant.slug, app.slug)
        : consolePaths.catalogue(ctx.tenant.slug),
  });
  return { ...record, ...set, decided_at: ctx.now.toISOString() };
}

export async function endRequestsOfUser(
  ctx: MutationCtx,
  { tenantId, user }: { tenantId: string; user: { id: string } },
): Promise<void> {
  await deletePendingRequestRows(ctx.db, { tenantId, userId: user.id });
}

async function requestRecord(ctx: Pick<Ctx, 'db'>, row: AccessRequestRow): Promise<RequestRecord> {
  const [record] = await requestRecords(ctx, [row]);
  return record as RequestRecord;
}

async function requestRecords(
  ctx: Pick<Ctx, 'db'>,
  rows: readonly AccessRequestRow[],
): Promise<RequestRecord[]> {
  const users = await findUsers(ctx, { ids: rows.map(({ user_id }) => user_id) });
  return rows.map(({ tenant_id: _, requested_at, decided_at, ...row }) => {
    const { email = '', name = '' } = users.get(row.user_id) ?? {};
    return {
      ...row,
      email,
      name,
      requested_at: requested_at.toISOString(),
      decided_at: decided_at?.toISOString() ?? null,
    };
  });
}
