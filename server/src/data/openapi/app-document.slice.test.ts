import { expect, test } from 'bun:test';
import { addCoOwner } from '../../apps/record/people.ts';
import { newApp } from '../../apps/record/testing.ts';
import type { Caller, TenantAccess } from '../../core/context.ts';
import { codeOf, newTenant, newUser, silentLog, testMutation, useTestDatabase } from '../../testing.ts';
import { getAppDocument } from '../routes.ts';
import { newTestTables, type TestTables } from '../tables/testing.ts';

const database = useTestDatabase();

/** A private app with tables `a` and `b`. */
async function newDocumentedApp() {
  const t = await newTestTables(database);
  for (const name of ['a', 'b']) await t.table(name, ['title:text']);
  const issue = async (table: string, principal: [string, string], actions = ['read', 'write']) => {
    const [principal_type, principal_id] = principal;
    const { status } = await t.call('POST', `/${table}/grants`, { principal_type, principal_id, actions });
    expect(status).toBe(201);
  };
  return { ...t, issue, of: (caller: Caller, app = t.app.slug) => documentFor(t, caller, app) };
}

function documentFor({ tenant, admin }: Pick<TestTables, 'tenant' | 'admin'>, caller: Caller, app: string) {
  const role: TenantAccess['role'] = caller.userId === admin.userId ? 'tenant_admin' : 'tenant_member';
  return getAppDocument(
    {
      db: database.db,
      now: new Date(),
      requestId: 'test',
      log: silentLog,
      caller,
      tenant: { ...tenant, role },
    },
    { app, baseUrl: 'http://svc.example.test' },
  );
}

/** `a: get post` for each path in the document, by table. */
async function callsOf(document: ReturnType<typeof documentFor>): Promise<Record<string, string>> {
  const calls: Record<string, Set<string>> = {};
  for (const [path, methods] of Object.entries((await document).paths)) {
    const table = path.split('/')[4] ?? '';
    calls[table] ??= new Set();
    for (const method of Object.keys(methods)) calls[table].add(method);
  }
  return Object.fromEntries(Object.entries(calls).map(([table, set]) => [table, [...set].sort().join(' ')]));
}

const all = 'delete get patch post';
/** Where the caller may change something. */
const batch = { _batch: 'post' };

test('owners get every table; an admin gets the app without tables unless granted', async () => {
  const t = await newDocumentedApp();
  expect(await callsOf(t.of(t.owner))).toEqual({ a: all, b: all, ...batch });
  expect(await callsOf(t.of(t.owner, t.app.id))).toEqual({ a: all, b: all, ...batch });
  expect(await callsOf(t.of(t.admin))).toEqual({});
  const coOwner = await newUser(database.db, t.tenant.id);
  await testMutation(database.db, t.owner, (ctx) => addCoOwner(ctx, { user: coOwner.userId }), {
    context: { tenant: t.tenant, app: t.app },
  });
  expect(await callsOf(t.of(coOwner))).toEqual({ a: all, b: all, ...batch });
});

test('others get the tables and operations of their grants', async () => {
  const t = await newDocumentedApp();
  const [reader, writer] = [await newUser(database.db, t.tenant.id), await newUser(database.db, t.tenant.id)];
  await t.issue('a', ['user', reader.userId], ['read']);
  await t.issue('b', ['user', writer.userId], ['write']);
  await t.issue('b', ['user', t.admin.userId]);
  expect(await callsOf(t.of(reader))).toEqual({ a: 'get' });
  expect(await callsOf(t.of(writer))).toEqual({ b: 'delete patch post', ...batch });
  expect(await callsOf(t.of(t.admin))).toEqual({ b: all, ...batch });
});

test('grants to roles and to the caller’s apps count as for rows', async () => {
  const t = await newDocumentedApp();
  const [member, owner] = [await newUser(database.db, t.tenant.id), await newUser(database.db, t.tenant.id)];
  const theirs = await newApp(database.db, t.tenant, owner, { visibility: 'public' });
  await t.issue('a', ['app', theirs.slug], ['read']);
  expect(await callsOf(t.of(owner))).toEqual({ a: 'get' });
  expect(await codeOf(t.of(member))).toBe('not_found');
  await t.issue('b', ['role', 'tenant_member'], ['read']);
  expect(await callsOf(t.of(owner))).toEqual({ a: 'get', b: 'get' });
  expect(await callsOf(t.of(member))).toEqual({ b: 'get' });
});

test('an app without visibility and grants is not found', async () => {
  const t = await newDocumentedApp();
  const stranger = await newUser(database.db, t.tenant.id);
  for (const app of [t.app.slug, t.app.id, 'no-such-app', 'No Such App', Bun.randomUUIDv7()])
    expect([app, await codeOf(t.of(stranger, app))]).toEqual([app, 'not_found']);
  const open = await newApp(database.db, t.tenant, t.owner, { visibility: 'public' });
  expect(await callsOf(t.of(stranger, open.slug))).toEqual({});
  const elsewhere = await newTenant(database.db);
  expect(await codeOf(documentFor(elsewhere, elsewhere.admin, t.app.id))).toBe('not_found');
});
