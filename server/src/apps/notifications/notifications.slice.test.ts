import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import type { Caller, TenantAccess } from '../../core/context.ts';
import {
  codeOf,
  newTenant,
  newUser,
  testCaller,
  testMutation,
  testRequestInfo,
  useTestDatabase,
} from '../../testing.ts';
import { transferOwnership } from '../record/ownership.ts';
import { newApp } from '../record/testing.ts';
import {
  deleteOldNotifications,
  listNotifications,
  mailTopic,
  type NotificationInput,
  notify,
  readNotifications,
} from './notifications.ts';

const database = useTestDatabase();

const notifyUsers = (
  tenant: TenantAccess,
  userIds: string[],
  more: Partial<NotificationInput> = {},
  mode: 'preview' | 'execute' = 'execute',
) =>
  testMutation(
    database.db,
    testCaller({ kind: 'operator', userId: 'operator', email: 'operator' }),
    (ctx) =>
      notify(ctx, {
        tenantId: tenant.id,
        kind: 'domain_disconnected',
        appId: null,
        userIds,
        title: 'title',
        text: 'text',
        path: '/t/x',
        ...more,
      }),
    { context: { tenant }, mode },
  );
const list = (
  tenant: TenantAccess,
  person: Caller,
  query: { unread?: 'true' | 'false'; cursor?: string; per_page?: number } = {},
) =>
  listNotifications(
    { ...testRequestInfo, db: database.db, now: new Date(), tenant, caller: person },
    { unread: 'false', per_page: 50, ...query },
  );
const read = (
  tenant: TenantAccess,
  person: Caller,
  ids: string[] | 'all',
  mode: 'preview' | 'execute' = 'execute',
) =>
  testMutation(database.db, person, (ctx) => readNotifications(ctx, { ids }), { context: { tenant }, mode });
const effects = async (tenant: TenantAccess) =>
  (
    await sql<{ id: string }>`select payload->>'notificationId' as id from svc.outbox
      where topic = ${mailTopic} and payload->>'tenantId' = ${tenant.id} order by 1`.execute(database.db)
  ).rows.map(({ id }) => id);

describe('notify', () => {
  test('sends one notification and one e-mail to each active member of the tenant', async () => {
    const { tenant, admin, member } = await newTenant(database.db);
    const [suspended, outsider] = [await newUser(database.db, tenant.id), await newUser(database.db, null)];
    await sql`update svc.users set status = 'suspended' where id = ${suspended.userId}`.execute(database.db);
    const ids = [admin, member, suspended, outsider, admin].map(({ userId }) => userId);
    await notifyUsers(tenant, [...ids, 'operator'], { title: 'a\r\nb' });
    const stored = await sql<{ id: string; user_id: string; title: string }>`
      select id, user_id, title from svc.notifications where tenant_id = ${tenant.id} order by id`.execute(
      database.db,
    );
    expect(stored.rows.map(({ user_id }) => user_id).sort()).toEqual([admin.userId, member.userId].sort());
    expect(stored.rows.map(({ title }) => title)).toEqual(['a b', 'a b']);
    expect(await effects(tenant)).toEqual(stored.rows.map(({ id }) => id).sort());
  });

  test('sends nothing for a preview', async () => {
    const { tenant, member } = await newTenant(database.db);
    await notifyUsers(tenant, [member.userId], {}, 'preview');
    expect((await list(tenant, member)).items).toEqual([]);
    expect(await effects(tenant)).toEqual([]);
  });

  test('shows the current slug of the app until the app is purged', async () => {
    const { tenant, admin, member } = await newTenant(database.db);
    const app = await newApp(database.db, tenant, member);
    await notifyUsers(tenant, [admin.userId], { appId: app.id });
    await sql`update svc.apps set slug = ${`${app.slug}x`} where id = ${app.id}`.execute(database.db);
    expect((await list(tenant, admin)).items).toMatchObject([{ app_id: app.id, app_slug: `${app.slug}x` }]);
    await sql`delete from svc.apps where id = ${app.id}`.execute(database.db);
    expect((await list(tenant, admin)).items).toEqual([]);
  });

  test('notifies all owners of a transfer, except the person who started it', async () => {
    const { tenant, member: owner } = await newTenant(database.db);
    const [next, other] = [await newUser(database.db, tenant.id), await newUser(database.db, tenant.id)];
    const app = await newApp(database.db, tenant, owner, { coOwners: [other] });
    const context = { tenant: { ...tenant, role: 'tenant_member' as const }, app };
    await testMutation(database.db, owner, (ctx) => transferOwnership(ctx, { to: next.userId }), { context });
    const kinds = async (person: Caller) => (await list(tenant, person)).items.map(({ kind }) => kind);
    expect(await kinds(owner)).toEqual([]);
    expect(await kinds(next)).toEqual(['ownership_transferred']);
    expect((await kinds(other)).sort()).toEqual(['co_owner_added', 'ownership_transferred']);
    const [notification] = (await list(tenant, next)).items;
    expect(notification?.title).toContain(next.email);
    expect(notification?.path).toBe(`/t/${tenant.slug}/apps/${app.slug}/people`);
  });
});

describe('notifications', () => {
  test('are listed newest first, page by page, while new ones arrive', async () => {
    const { tenant, member } = await newTenant(database.db);
    for (const title of ['1', '2', '3', '4', '5']) await notifyUsers(tenant, [member.userId], { title });
    const first = await list(tenant, member, { per_page: 2 });
    await notifyUsers(tenant, [member.userId], { title: '6' });
    const second = await list(tenant, member, { per_page: 2, cursor: first.next_cursor ?? '' });
    const third = await list(tenant, member, { per_page: 2, cursor: second.next_cursor ?? '' });
    expect([first, second, third].map(({ items }) => items.map(({ title }) => title))).toEqual([
      ['5', '4'],
      ['3', '2'],
      ['1'],
    ]);
    expect([third.next_cursor, third.unread]).toEqual([null, 6]);
    for (const cursor of ['x', '', Buffer.from('1 2').toString('base64url'), '99999999999999999'])
      expect(await codeOf(list(tenant, member, { cursor }))).toBe('invalid_cursor');
  });

  test('are visible to their recipient only, in the tenant of the event', async () => {
    const { tenant, admin, member } = await newTenant(database.db);
    const { tenant: elsewhere } = await newTenant(database.db);
    await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
      values (${elsewhere.id}, ${member.userId}, 'tenant_admin', now())`.execute(database.db);
    await notifyUsers(tenant, [member.userId]);
    const [notification] = (await list(tenant, member)).items;
    const id = notification?.id ?? '';
    expect((await list(tenant, admin)).items).toEqual([]);
    expect((await list(elsewhere, member)).items).toEqual([]);
    expect((await read(tenant, admin, [id])).value).toEqual({ changed: 0, unread: 0 });
    expect((await read(elsewhere, member, 'all')).value).toEqual({ changed: 0, unread: 0 });
    expect((await list(tenant, member)).unread).toBe(1);
  });

  test('are marked as read once, some or all of them', async () => {
    const { tenant, member } = await newTenant(database.db);
    for (const title of ['1', '2', '3']) await notifyUsers(tenant, [member.userId], { title });
    const ids = (await list(tenant, member)).items.map(({ id }) => id);
    const { result } = await read(tenant, member, [ids[0] ?? ''], 'preview');
    expect(result).toMatchObject({
      kind: 'previewed',
      plan: { changes: [{ path: 'unread', before: 1, after: 0 }] },
    });
    expect((await read(tenant, member, [ids[0] ?? '', Bun.randomUUIDv7()])).value).toEqual({
      changed: 1,
      unread: 2,
    });
    const { read_at } = (await list(tenant, member)).items[0] ?? {};
    expect((await read(tenant, member, [ids[0] ?? ''])).value).toEqual({ changed: 0, unread: 2 });
    expect((await list(tenant, member, { unread: 'true' })).items.map(({ title }) => title)).toEqual([
      '2',
      '1',
    ]);
    expect((await read(tenant, member, 'all')).value).toEqual({ changed: 2, unread: 0 });
    const after = (await list(tenant, member)).items;
    expect([after.length, after[0]?.read_at]).toEqual([3, read_at ?? '']);
  });

  test('are deleted after 90 days', async () => {
    const { tenant, member } = await newTenant(database.db);
    for (const title of ['old', 'young']) await notifyUsers(tenant, [member.userId], { title });
    const age = (title: string, time: string) =>
      sql`update svc.notifications set created_at = now() - ${time}::interval
        where tenant_id = ${tenant.id} and title = ${title}`.execute(database.db);
    await age('old', '90 days 1 minute');
    await age('young', '89 days 23 hours');
    await deleteOldNotifications(database.db, { now: new Date() });
    expect((await list(tenant, member)).items.map(({ title }) => title)).toEqual(['young']);
  });
});
