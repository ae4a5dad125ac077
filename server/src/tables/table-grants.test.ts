import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { grantsPerTableMax } from '@svc/contract/columns.ts';
import { sql } from 'kysely';
import { newApp } from '../apps/testing.ts';
import { operator } from '../identity/testing.ts';
import { setMember } from '../tenants/set-member.ts';
import { newTenant, newUser, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { tableGrantsOf } from './table-grants-of.ts';
import { tableWorld } from './testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

async function world() {
  const t = await tableWorld(database);
  const { id: tableId } = await t.table('a');
  const issue = (principal_type: string, principal_id: string, actions = ['read']) =>
    t.call('POST', '/a/grants', { principal_type, principal_id, actions });
  return { ...t, tableId, issue };
}

describe('a table grant', () => {
  test('names a user by e-mail or id, an app by slug or id, or a role; kept by id', async () => {
    const t = await world();
    const colleague = await newUser(database.db, t.tenant.id);
    const other = await newApp(database.db, t.tenant, t.owner);
    const third = await newApp(database.db, t.tenant, t.owner);
    const issued = [
      await t.issue('user', t.admin.email.toUpperCase(), ['write', 'read', 'write']),
      await t.issue('user', colleague.userId),
      await t.issue('app', other.slug),
      await t.issue('app', third.id, ['write']),
      await t.issue('role', 'tenant_member'),
      await t.issue('role', 'tenant_admin'),
    ];
    expect(issued.map(({ status }) => status)).toEqual(Array(6).fill(201));
    expect(issued[0]?.body).toEqual({
      id: expect.any(String),
      table_id: t.tableId,
      principal_type: 'user',
      principal_id: t.admin.userId,
      principal_name: t.admin.email,
      actions: ['read', 'write'],
      created_by: t.owner.userId,
      created_at: expect.any(String),
    });
    expect(issued.map(({ body }) => body.principal_id)).toEqual([
      ...[t.admin.userId, colleague.userId, other.id, third.id, 'tenant_member', 'tenant_admin'],
    ]);
    expect(issued.slice(1).map(({ body }) => body.principal_name)).toEqual([
      ...[colleague.email, other.slug, third.slug, 'tenant_member', 'tenant_admin'],
    ]);
    const listed = (await t.call('GET', '/a/grants')).body;
    expect(listed).toEqual({ items: issued.map(({ body }) => body), page: 1, per_page: 50, total: 6 });
    await t.table('b');
    const tables = (await t.call('GET', '')).body.items;
    expect(tables.map(({ name, grants }: { name: string; grants: number }) => [name, grants])).toEqual([
      ['a', 6],
      ['b', 0],
    ]);
    expect(await tableGrantsOf(database.db, t.tableId)).toContainEqual({
      ...{ principalType: 'app', principalId: third.id, actions: ['write'] },
    });
  });

  test('reaches nobody outside the tenant, nobody suspended, no app that the issuer can not see, nor the app itself', async () => {
    const t = await world();
    const elsewhere = await newTenant(database.db);
    const suspended = await newUser(database.db, t.tenant.id);
    await sql`update svc.users set status = 'suspended' where id = ${suspended.userId}`.execute(database.db);
    const foreign = await newApp(database.db, elsewhere.tenant, elsewhere.member);
    const hidden = await newApp(database.db, t.tenant, t.admin);
    const refused: [string, string][] = [
      ['user', elsewhere.member.userId],
      ['user', elsewhere.member.email],
      ['user', 'nobody@example.test'],
      ['user', suspended.userId],
      ['app', foreign.id],
      ['app', hidden.slug],
      ['app', t.app.slug],
      ['app', 'nothing'],
      ['role', 'owner'],
      ['role', t.member.userId],
    ];
    for (const [type, principal] of refused) {
      const { status, body } = await t.issue(type, principal);
      expect([principal, status, body.errors?.[0].field]).toEqual([principal, 400, 'principal_id']);
    }
    expect((await t.call('GET', '/a/grants')).body.total).toBe(0);
  });

  test.each<[string, unknown]>([
    ['actions', { principal_type: 'role', principal_id: 'tenant_member', actions: [] }],
    ['actions.0', { principal_type: 'role', principal_id: 'tenant_member', actions: ['drop'] }],
    ['principal_type', { principal_type: 'group', principal_id: 'x', actions: ['read'] }],
  ])('with a bad %s is refused', async (field, body) => {
    const t = await world();
    const answer = await t.call('POST', '/a/grants', body);
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
  });

  test('is one per principal: a second names the first', async () => {
    const t = await world();
    const { body: first } = await t.issue('user', t.admin.userId);
    const { status, body } = await t.issue('user', t.admin.email, ['write']);
    expect([status, body.code, body.detail.includes(first.id)]).toEqual([409, 'unique_violation', true]);
  });

  test('is one of 200 of its table at most', async () => {
    const t = await world();
    await sql`insert into svc.table_grants (id, tenant_id, app_id, table_id, principal_type, principal_id, actions,
        created_by, created_at)
      select gen_random_uuid(), ${t.tenant.id}, ${t.app.id}, ${t.tableId}, 'user', gen_random_uuid()::text, '{read}',
        ${t.owner.userId}, now() from generate_series(1, ${grantsPerTableMax})`.execute(database.db);
    expect((await t.issue('role', 'tenant_member')).body.code).toBe('limit_reached');
  });

  test('is ended once, by an owner or an admin, who can not issue one', async () => {
    const t = await world();
    const { body } = await t.issue('role', 'tenant_member');
    const asAdmin = t.as(t.admin);
    const again = { principal_type: 'role', principal_id: 'tenant_admin', actions: ['read'] };
    expect((await asAdmin('POST', '/a/grants', again)).status).toBe(403);
    expect((await asAdmin('DELETE', `/a/grants/${body.id}`)).status).toBe(204);
    for (const id of [body.id, 'nonsense', t.tableId]) {
      expect((await t.call('DELETE', `/a/grants/${id}`)).status).toBe(404);
    }
    await t.table('b');
    const { id } = (await t.issue('role', 'tenant_member')).body;
    expect((await t.call('DELETE', `/b/grants/${id}`)).status).toBe(404);
  });

  test('is named in the order of the ids where several end at once, so that equal previews are equal', async () => {
    const t = await world();
    const colleague = await newUser(database.db, t.tenant.id);
    const grants = Array.from({ length: 20 }, (_, at) => ({ id: Bun.randomUUIDv7(), table: `t_${at}` }));
    for (const { id, table } of grants.toReversed()) {
      const { id: tableId } = await t.table(table);
      await sql`insert into svc.table_grants (id, tenant_id, app_id, table_id, principal_type, principal_id, actions,
          created_by, created_at)
        values (${id}, ${t.tenant.id}, ${t.app.id}, ${tableId}, 'user', ${colleague.userId}, '{read}',
          ${t.owner.userId}, now())`.execute(database.db);
    }
    const { result } = await testMutation(
      database.db,
      operator,
      (ctx) => setMember(ctx, { tenantId: t.tenant.id, userId: colleague.userId, role: 'none' }),
      { auditTenantId: t.tenant.id, mode: 'preview' },
    );
    const changes = result.kind === 'previewed' ? result.plan.changes : [];
    const ended = changes.filter(({ path }) => path === 'table_grant.table').map(({ before }) => before);
    expect(ended).toEqual(grants.map(({ table }) => table));
  });

  test('does not outlast the membership, nor come back with it', async () => {
    const t = await world();
    const colleague = await newUser(database.db, t.tenant.id);
    await t.issue('user', colleague.userId);
    await t.issue('role', 'tenant_member');
    const set = (role: 'tenant_member' | 'none') =>
      testMutation(
        database.db,
        operator,
        (ctx) => setMember(ctx, { tenantId: t.tenant.id, userId: colleague.userId, role }),
        { auditTenantId: t.tenant.id },
      );
    await set('none');
    await set('tenant_member');
    const left = await tableGrantsOf(database.db, t.tableId);
    expect(left.map(({ principalType }) => principalType)).toEqual(['role']);
    const { rows } = await sql<{
      action: string;
      app_id: string;
    }>`select action, app_id from svc.audit_entries
      where tenant_id = ${t.tenant.id} and action = 'tableGrants.revoke'`.execute(database.db);
    expect(rows).toEqual([{ action: 'tableGrants.revoke', app_id: t.app.id }]);
  });
});
