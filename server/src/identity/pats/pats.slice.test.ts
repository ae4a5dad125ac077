import { expect, test } from 'bun:test';
import { patsPerUserMax } from '@svc/contract/identity.ts';
import { sql } from 'kysely';
import type { TenantMutationCtx } from '../../core/context.ts';
import { sha256 } from '../../core/values.ts';
import { codeOf, newTenant, newUser, testMutation } from '../../testing.ts';
import { loginHeaders, useServer } from '../provider/testing.ts';
import { isWellFormedPat } from './find-pat.ts';
import { createPat, patStatus } from './pats.ts';

const { database, server } = useServer();

async function world() {
  const { tenant, admin, member } = await newTenant(database.db);
  const path = `/api/v1/tenants/${tenant.slug}/pats`;
  return {
    tenant,
    path,
    admin: await loginHeaders(database, admin),
    member: await loginHeaders(database, member),
    people: { admin, member },
  };
}

async function auditOf(tenantId: string, action: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from svc.audit_entries where tenant_id = ${tenantId} and action = ${action}`.execute(
    database.db,
  );
  return rows[0]!.n;
}

const days = 86_400_000;

test('a PAT is read-only for 90 days by default, and its secret is returned once', async () => {
  const { tenant, path, member, people } = await world();
  const { status, body } = await server.call(member, 'POST', path, { name: 'ci' });
  expect(status).toBe(201);
  expect(isWellFormedPat(body.secret)).toBe(true);
  const { secret, ...pat } = body;
  expect(pat).toMatchObject({
    tenant_id: tenant.id,
    user_id: people.member.userId,
    name: 'ci',
    hint: secret.slice(-4),
    actions: ['read'],
    apps: [],
    status: 'active',
    revoked_at: '',
    last_used_at: '',
  });
  expect(Date.parse(pat.expires_at) - Date.parse(pat.created_at)).toBe(90 * days);
  const listed = await server.call(member, 'GET', path);
  expect(listed.body).toEqual({ items: [pat], page: 1, per_page: 50, total: 1 });
});

test('actions and lifetime can be chosen, up to 365 days', async () => {
  const { path, member } = await world();
  const { body } = await server.call(member, 'POST', path, {
    name: 'ci',
    actions: ['deploy', 'write', 'read', 'write'],
    expires_in_days: 365,
  });
  expect(body.actions).toEqual(['read', 'write', 'deploy']);
  expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(365 * days);
  for (const bad of [
    { expires_in_days: 366 },
    { expires_in_days: 0 },
    { actions: [] },
    { actions: ['admin'] },
  ]) {
    const refused = await server.call(member, 'POST', path, { name: 'ci', ...bad });
    expect([refused.status, refused.body.code]).toEqual([400, 'validation_failed']);
  }
});

test('the preview and the answer list what the token can do, one sentence for each action', async () => {
  const { path, member } = await world();
  const body = { name: 'ci', actions: ['deploy', 'code'] };
  const preview = await server.call(member, 'POST', `${path}?dry_run=true`, body);
  const allows = preview.body.plan.changes.filter((change: { path: string }) =>
    change.path.startsWith('allows.'),
  );
  expect(allows).toMatchObject([
    { path: 'allows.code', after: expect.stringContaining('Clone git repositories and push') },
    { path: 'allows.deploy', after: expect.stringContaining('Deploy apps') },
  ]);
  const made = await server.call(member, 'POST', path, body);
  expect(made.body.allows).toEqual(allows.map(({ after }: { after: string }) => after));
  expect((await server.call(member, 'GET', path)).body.items[0].allows).toEqual(made.body.allows);
});

test('a name with invisible or text-direction characters is refused, and the error names the field', async () => {
  const { path, member } = await world();
  for (const name of ['a\u202eb', 'a\u200bb', 'a\u0007b', 'a\u2028b']) {
    const { status, body } = await server.call(member, 'POST', path, { name });
    expect([status, body.code, body.errors[0].field]).toEqual([400, 'validation_failed', 'name']);
  }
});

test('an unknown app is refused, and the error names it', async () => {
  const { path, member } = await world();
  const { status, body } = await server.call(member, 'POST', path, { name: 'ci', apps: ['shop'] });
  expect([status, body.code, body.errors[0].field]).toEqual([400, 'validation_failed', 'apps']);
});

test('only the hash of a secret is stored, and the audit has neither', async () => {
  const { path, member } = await world();
  const { body } = await server.call(member, 'POST', path, { name: 'ci' });
  const dump = await sql<{ line: string }>`
    select to_json(p)::text as line from svc.pats p union all
    select to_json(a)::text from svc.audit_entries a union all
    select to_json(m)::text from svc.oauth_models m union all
    select to_json(o)::text from svc.outbox o union all
    select to_json(i)::text from svc.idempotency_keys i`.execute(database.db);
  const text = dump.rows.map((row) => row.line).join('\n');
  expect(text).toContain(sha256(body.secret));
  expect(text).not.toContain(body.secret);
  expect(text).not.toContain(body.secret.slice(7, 37));
  expect(text).not.toContain(member.authorization.slice(7));
  const audit = await sql<{ text: string }>`select changes::text as text from svc.audit_entries`.execute(
    database.db,
  );
  expect(audit.rows.map((row) => row.text).join()).not.toContain(sha256(body.secret));
});

test('a preview has no secret and stores nothing, and the execution matches its plan', async () => {
  const { tenant, path, member } = await world();
  const preview = await server.call(member, 'POST', `${path}?dry_run=true`, { name: 'ci' });
  expect(preview.status).toBe(200);
  expect(JSON.stringify(preview.body)).not.toContain('svcpat_');
  expect((await server.call(member, 'GET', path)).body.total).toBe(0);
  expect(await auditOf(tenant.id, 'pats.create')).toBe(0);
  const planned = { ...member, 'if-plan': preview.body.plan.fingerprint };
  expect((await server.call(planned, 'POST', path, { name: 'ci' })).status).toBe(201);
  expect((await server.call(planned, 'POST', path, { name: 'other' })).body.code).toBe('plan_stale');
});

test('at most fifty PATs are active per user and tenant, also with concurrent requests', async () => {
  const { tenant, path, member, admin, people } = await world();
  await sql`
    insert into svc.pats (id, tenant_id, user_id, name, secret_hash, hint, actions, apps, created_at, expires_at, revoked_at)
    select gen_random_uuid(), ${tenant.id}, ${people.member.userId}, 'n', gen_random_uuid()::text, '', '{read}', '{}', now(),
      case when n = 1 then now() else now() + interval '1 day' end, case when n = 2 then now() end
    from generate_series(1, ${patsPerUserMax}) n`.execute(database.db);
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => server.call(member, 'POST', path, { name: 'more' })),
  );
  // One of the fifty has expired and one is revoked: two more can be created.
  expect(answers.map((answer) => answer.status).sort()).toEqual([201, 201, 409, 409, 409]);
  expect(answers.find((answer) => answer.status === 409)?.body.code).toBe('limit_reached');
  expect((await server.call(admin, 'POST', path, { name: 'of another' })).status).toBe(201);
});

test("members list their own PATs; admins can list everyone's, and members cannot", async () => {
  const { path, admin, member } = await world();
  await server.call(member, 'POST', path, { name: 'of member' });
  await server.call(admin, 'POST', path, { name: 'of admin' });
  const names = async (login: Record<string, string>, query = '') => {
    const { status, body } = await server.call(login, 'GET', path + query);
    return status === 200 ? body.items.map((pat: { name: string }) => pat.name) : body.code;
  };
  expect(await names(member)).toEqual(['of member']);
  expect(await names(admin)).toEqual(['of admin']);
  expect(await names(admin, '?all=true')).toEqual(['of admin', 'of member']);
  expect(await names(admin, '?all=true&page=2&per_page=1')).toEqual(['of member']);
  expect(await names(member, '?all=true')).toBe('forbidden');
});

test("users revoke their own PATs, admins anyone's; others get 404", async () => {
  const { tenant, path, admin, member } = await world();
  const other = await loginHeaders(database, await newUser(database.db, tenant.id));
  const { body: first } = await server.call(member, 'POST', path, { name: 'first' });
  const { body: second } = await server.call(member, 'POST', path, { name: 'second' });
  const revoke = (login: Record<string, string>, id: string) => server.call(login, 'DELETE', `${path}/${id}`);

  const hidden = await revoke(other, first.id);
  const absent = await revoke(other, Bun.randomUUIDv7());
  expect(hidden).toEqual(absent);
  expect([hidden.status, hidden.body.code]).toEqual([404, 'not_found']);
  expect((await revoke(member, first.id)).body).toMatchObject({ id: first.id, status: 'revoked' });
  expect((await revoke(admin, second.id)).body).toMatchObject({ id: second.id, status: 'revoked' });
  expect(await auditOf(tenant.id, 'pats.revoke')).toBe(2);
});

test('revoking twice gives the same answer and is audited once', async () => {
  const { tenant, path, member } = await world();
  const { body } = await server.call(member, 'POST', path, { name: 'ci' });
  const answers = await Promise.all([1, 2, 3].map(() => server.call(member, 'DELETE', `${path}/${body.id}`)));
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200]);
  expect(new Set(answers.map((answer) => answer.body.revoked_at)).size).toBe(1);
  expect(await auditOf(tenant.id, 'pats.revoke')).toBe(1);
});

test('a PAT is not found through another tenant, even by an admin of both', async () => {
  const { path, member } = await world();
  const elsewhere = await world();
  const { body } = await server.call(member, 'POST', path, { name: 'ci' });
  const answer = await server.call(elsewhere.admin, 'DELETE', `${elsewhere.path}/${body.id}`);
  expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
});

test('a revoked and expired PAT has the status revoked', () => {
  const now = new Date();
  expect(patStatus({ revoked_at: now, expires_at: now }, now)).toBe('revoked');
  expect(patStatus({ revoked_at: null, expires_at: now }, now)).toBe('expired');
  expect(patStatus({ revoked_at: null, expires_at: new Date(now.getTime() + 1) }, now)).toBe('active');
});

test('a member who was deactivated after the request was authorized gets no token', async () => {
  const { db } = database;
  const { tenant, member, context } = await newTenant(db);
  const input = { name: 'late', actions: ['read' as const], apps: [] };
  const create = () =>
    codeOf(testMutation(db, member, (ctx) => createPat(ctx as TenantMutationCtx, input), { context }));
  await sql`update svc.memberships set deactivated_at = now()
    where tenant_id = ${tenant.id} and user_id = ${member.userId}`.execute(db);
  expect(await create()).toBe('not_found');
  await sql`update svc.memberships set deactivated_at = null where user_id = ${member.userId}`.execute(db);
  await sql`update svc.users set status = 'suspended' where id = ${member.userId}`.execute(db);
  expect(await create()).toBe('not_found');
  await sql`update svc.users set status = 'active' where id = ${member.userId}`.execute(db);
  expect(await create()).toBe('done');
});
