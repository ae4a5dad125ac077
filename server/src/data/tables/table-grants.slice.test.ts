import { describe, expect, test } from 'bun:test';
import { grantsPerTableMax } from '@svc/contract/columns.ts';
import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import { operator } from '../../identity/provider/testing.ts';
import { setMember } from '../../people/tenants/members.ts';
import { newTenant, newUser, testMutation, useTestDatabase } from '../../testing.ts';
import { listTableGrantEntries } from './grants.ts';
import { newTestTables } from './testing.ts';

const database = useTestDatabase();

async function newGrantedTable() {
  const t = await newTestTables(database);
  const { id: tableId } = await t.table('a');
  const issue = (principal_type: string, principal_id: string, actions = ['read']) =>
    t.call('POST', '/a/grants', { principal_type, principal_id, actions });
  return { ...t, tableId, issue };
}

describe('a table grant', () => {
  test('is for a user (e-mail or id), an app (slug or id) or a role, and stores the id', async () => {
    const t = await newGrantedTable();
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
    const roles = ['tenant_member', 'tenant_admin'];
    const ids = [t.admin.userId, colleague.userId, other.id, third.id].concat(roles);
    const names = [t.admin.email, colleague.email, other.slug, third.slug].concat(roles);
    expect(issued.map(({ body }) => body.principal_id)).toEqual(ids);
    expect(issued.map(({ body }) => body.principal_name)).toEqual(names);
    const listed = (await t.call('GET', '/a/grants')).body;
    expect(listed).toEqual({ items: issued.map(({ body }) => body), page: 1, per_page: 50, total: 6 });
    await t.table('b');
    const tables = (await t.call('GET', '')).body.items;
    expect(tables.map(({ name, grants }: { name: string; grants: number }) => [name, grants])).toEqual([
      ['a', 6],
      ['b', 0],
    ]);
    expect(await listTableGrantEntries(database.db, t.tableId)).toContainEqual({
      id: expect.any(String),
      principalType: 'app',
      principalId: third.id,
      actions: ['write'],
    });
  });

  test('is refused for people outside the tenant, suspended people, invisible apps and the app itself', async () => {
    const t = await newGrantedTable();
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
      ['group', 'no-such-group'],
      ['group', t.member.userId],
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
    ['principal_type', { principal_type: 'team', principal_id: 'x', actions: ['read'] }],
  ])('with a bad %s is refused', async (field, body) => {
    const t = await newGrantedTable();
    const answer = await t.call('POST', '/a/grants', body);
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
  });

  test('exists once per principal; the error names the existing one', async () => {
    const t = await newGrantedTable();
    const { body: first } = await t.issue('user', t.admin.userId);
    const { status, body } = await t.issue('user', t.admin.email, ['write']);
    expect([status, body.code, body.detail.includes(first.id)]).toEqual([409, 'unique_violation', true]);
  });

  test('is refused when the table has 200 grants', async () => {
    const t = await newGrantedTable();
    await sql`insert into svc.table_grants (id, tenant_id, app_id, table_id, principal_type, principal_id, actions,
        created_by, created_at)
      select gen_random_uuid(), ${t.tenant.id}, ${t.app.id}, ${t.tableId}, 'user', gen_random_uuid()::text, '{read}',
        ${t.owner.userId}, now() from generate_series(1, ${grantsPerTableMax})`.execute(database.db);
    expect((await t.issue('role', 'tenant_member')).body.code).toBe('limit_reached');
  });

  test('can be revoked by an owner or an admin; an admin cannot issue one', async () => {
    const t = await newGrantedTable();
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

  test('is listed in the order of ids when several end, so that equal previews are equal', async () => {
    const t = await newGrantedTable();
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

  test('ends with the membership and does not come back with it', async () => {
    const t = await newGrantedTable();
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
    const left = await listTableGrantEntries(database.db, t.tableId);
    expect(left.map(({ principalType }) => principalType)).toEqual(['role']);
    const { rows } = await sql<{
      action: string;
      app_id: string;
    }>`select action, app_id from svc.audit_entries
      where tenant_id = ${t.tenant.id} and action = 'tableGrants.revoke'`.execute(database.db);
    expect(rows).toEqual([{ action: 'tableGrants.revoke', app_id: t.app.id }]);
  });
});
