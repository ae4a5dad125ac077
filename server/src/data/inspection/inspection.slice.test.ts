import { expect, test } from 'bun:test';
import { inspectionReasonCharsMax } from '@svc/contract/inspection.ts';
import { sql } from 'kysely';
import { newOwnedApp } from '../../apps/record/testing.ts';
import { appRoutes } from '../../apps/routes.ts';
import { loginHeaders, peopleRoutes, startServerCopy, useServer } from '../../identity/provider/testing.ts';
import { codeOf, testMutation } from '../../testing.ts';
import { inspectionRoutes, tableRoutes } from '../routes.ts';
import { inspectApp, setInspectionConsent } from './inspection.ts';

const routes = [...peopleRoutes, ...appRoutes, ...tableRoutes, ...inspectionRoutes];
const { database, server } = useServer((opened) => startServerCopy(opened, undefined, routes));

/** A public app with an owner and a co-owner. */
async function newInspectedApp() {
  const { tenant, admin, member, owner, coOwner, app } = await newOwnedApp(database.db, {
    visibility: 'public',
  });
  const path = `/api/v1/tenants/${tenant.slug}/apps/${app.slug}`;
  const logins = {
    owner: await loginHeaders(database, owner),
    coOwner: await loginHeaders(database, coOwner),
    admin: await loginHeaders(database, admin),
    member: await loginHeaders(database, member),
  };
  const set = (granted: boolean, by = logins.owner, query = '') =>
    server.call(by, 'PUT', `${path}/inspection-consent${query}`, { granted });
  const get = async (by = logins.admin) => (await server.call(by, 'GET', `${path}/inspection-consent`)).body;
  const inspect = (reason = 'a look', by = logins.admin) =>
    server.call(by, 'POST', `${path}/inspections`, { what: 'tables', reason });
  const ledger = async (query = '') =>
    (await server.call(logins.owner, 'GET', `${path}/inspection-consent/ledger${query}`)).body;
  return { tenant, admin, member, owner, coOwner, app, path, logins, set, get, inspect, ledger };
}

test('consent starts as never, is granted by the owner and revoked by any owner', async () => {
  const { app, owner, coOwner, logins, set, get } = await newInspectedApp();
  const never = {
    app_id: app.id,
    consent_id: null,
    status: 'never',
    reads: 0,
    granted_by: null,
    granted_at: null,
    revoked_by: null,
    revoked_at: null,
  };
  expect(await get()).toEqual(never);
  expect((await set(false)).body).toEqual({ ...never, changed: false });
  const granted = (await set(true)).body;
  expect(granted).toMatchObject({ status: 'granted', granted_by: owner.userId, revoked_at: null });
  expect((await set(true)).body).toEqual({ ...granted, changed: false });
  const revoked = (await set(false, logins.coOwner)).body;
  expect(revoked).toMatchObject({
    ...granted,
    status: 'revoked',
    revoked_by: coOwner.userId,
    revoked_at: expect.any(String),
  });
  expect((await set(false)).body).toEqual({ ...revoked, changed: false });
  for (const who of ['owner', 'coOwner', 'admin'] as const) expect(await get(logins[who])).toEqual(revoked);
  const again = (await set(true)).body;
  expect([again.status, again.consent_id === granted.consent_id, again.revoked_at]).toEqual([
    'granted',
    false,
    null,
  ]);
});

test('co-owners cannot grant; admins and members cannot set consent', async () => {
  const { logins, set, get } = await newInspectedApp();
  for (const by of [logins.coOwner, logins.admin, logins.member])
    expect((await set(true, by)).body.code).toBe('forbidden');
  await set(true);
  expect((await set(true, logins.coOwner)).body.code).toBe('forbidden');
  for (const by of [logins.admin, logins.member]) expect((await set(false, by)).body.code).toBe('forbidden');
  expect((await get()).status).toBe('granted');
  expect((await get(logins.member)).code).toBe('forbidden');
});

test('an inspection shows tables with columns and indexes, never rows, and is recorded in the ledger', async () => {
  const { admin, app, path, logins, set, get, inspect, ledger } = await newInspectedApp();
  const tables = `${path}/tables`;
  const made = await server.call(logins.owner, 'POST', tables, {
    name: 'pets',
    columns: ['name:text', 'age:int:nullable:3', 'keeper:uuid:nullable'],
    owner_column: 'keeper',
    description: 'Who lives here',
  });
  expect(made.status).toBe(201);
  const index = { columns: ['name', 'age'], unique: true };
  expect((await server.call(logins.owner, 'POST', `${tables}/pets/indexes`, index)).status).toBe(201);
  const { consent_id } = (await set(true)).body;
  const { status, body } = await inspect('yearly review');
  expect(status).toBe(201);
  const entry = {
    id: body.id,
    consent_id,
    reader_id: admin.userId,
    reader_email: admin.email,
    what: 'tables',
    reason: 'yearly review',
    at: body.at,
  };
  expect(body).toEqual({
    ...entry,
    app_id: app.id,
    tables: [
      {
        name: 'pets',
        description: 'Who lives here',
        owner_column: 'keeper',
        columns: made.body.columns,
        indexes: [{ name: 'name_age_key', ...index }],
      },
    ],
  });
  expect(await ledger()).toMatchObject({ items: [entry], total: 1 });
  expect((await get()).reads).toBe(1);
});

test('an inspection requires an admin and a granted consent', async () => {
  const { logins, set, inspect, ledger } = await newInspectedApp();
  expect((await inspect()).body.code).toBe('consent_required');
  await set(true);
  for (const by of [logins.owner, logins.coOwner, logins.member])
    expect((await inspect('a look', by)).body.code).toBe('forbidden');
  expect((await inspect()).status).toBe(201);
  await set(false);
  const refused = await inspect();
  expect([refused.status, refused.body.code]).toEqual([409, 'consent_required']);
  expect((await ledger()).total).toBe(1);
});

test('the plan of a revocation warns that reads cannot be undone, and the ledger stays', async () => {
  const { logins, path, set, inspect, ledger } = await newInspectedApp();
  const first = (await set(true)).body.consent_id;
  await inspect('one');
  const { plan } = (await set(false, logins.owner, '?dry_run=true')).body;
  expect(plan.warnings).toEqual([expect.stringContaining('does not undo what was already read')]);
  expect(plan.changes).toMatchObject([{ path: 'inspection_consent', before: 'granted', after: 'revoked' }]);
  await set(false);
  const second = (await set(true)).body.consent_id;
  for (const reason of ['two', 'three']) await inspect(reason);
  await set(false);
  const { items, total } = await ledger();
  const shown = items.map(({ reason, consent_id }: Record<string, string>) => [reason, consent_id]);
  expect([total, shown]).toEqual([
    3,
    [
      ['three', second],
      ['two', second],
      ['one', first],
    ],
  ]);
  expect((await ledger('?per_page=2&page=2')).items).toMatchObject([{ reason: 'one' }]);
  expect((await server.call(logins.member, 'GET', `${path}/inspection-consent/ledger`)).status).toBe(403);
});

test('an idempotent repeat gives the stored response, until the consent is revoked', async () => {
  const { app, path, logins, set, ledger } = await newInspectedApp();
  await server.call(logins.owner, 'POST', `${path}/tables`, { name: 'hush' });
  await set(true);
  const again = (copy = server) =>
    copy.call({ ...logins.admin, 'idempotency-key': `look-${app.id}` }, 'POST', `${path}/inspections`, {
      what: 'tables',
      reason: 'a look',
    });
  const first = await again();
  expect([first.status, first.body.tables[0].name]).toEqual([201, 'hush']);
  expect(await again()).toEqual(first);
  await set(false);
  const refused = await again();
  expect([refused.status, refused.body.code]).toEqual([409, 'consent_required']);
  expect((await ledger()).total).toBe(1);
  await set(true);
  await sql`update svc.apps set record = 'deleted', deleted_at = now(), purge_after = now() where id = ${app.id}`.execute(
    database.db,
  );
  const fresh = await startServerCopy(database, undefined, routes);
  expect((await again(fresh)).body.code).toBe('not_found');
  await fresh.stop();
});

test('a preview of an inspection shows and records nothing', async () => {
  const { path, logins, set, ledger } = await newInspectedApp();
  await server.call(logins.owner, 'POST', `${path}/tables`, { name: 'hush' });
  await set(true);
  const body = { what: 'tables', reason: 'a look' };
  const preview = await server.call(logins.admin, 'POST', `${path}/inspections?dry_run=true`, body);
  expect(preview.body.plan).toMatchObject({
    operation: 'inspections.create',
    target: { kind: 'inspection' },
  });
  expect(JSON.stringify(preview.body)).not.toContain('hush');
  expect((await ledger()).total).toBe(0);
});

test('subject and reason are required', async () => {
  const { path, logins, set } = await newInspectedApp();
  await set(true);
  for (const body of [
    { what: 'rows', reason: 'x' },
    { what: 'code', reason: 'x' },
    { what: 'tables' },
    { what: 'tables', reason: ' ' },
    { what: 'tables', reason: 'x'.repeat(inspectionReasonCharsMax + 1) },
  ]) {
    const { status } = await server.call(logins.admin, 'POST', `${path}/inspections`, body);
    expect([body, status]).toEqual([body, 400]);
  }
});

test('the ledger is append-only and deleted only with its app', async () => {
  const { app, set, inspect } = await newInspectedApp();
  await set(true);
  const { id } = (await inspect()).body;
  for (const statement of [
    sql`update svc.inspection_ledger set reason = 'another' where id = ${id}`,
    sql`delete from svc.inspection_ledger where id = ${id}`,
    sql`delete from svc.inspection_consents where app_id = ${app.id}`,
    sql`truncate svc.inspection_ledger`,
  ])
    await expect(statement.execute(database.db)).rejects.toThrow('append-only');
  const left = async () =>
    (
      await sql<{ id: string }>`select id from svc.inspection_ledger where app_id = ${app.id}`.execute(
        database.db,
      )
    ).rows;
  expect(await left()).toEqual([{ id }]);
  await sql`delete from svc.apps where id = ${app.id}`.execute(database.db);
  expect(await left()).toEqual([]);
});

test('of parallel inspections and a revocation, the ledger has exactly the successful ones', async () => {
  const { logins, set, inspect, ledger } = await newInspectedApp();
  await set(true);
  const [answers] = await Promise.all([
    Promise.all(Array.from({ length: 8 }, () => inspect())),
    set(false, logins.coOwner),
  ]);
  const seen = answers.filter(({ status }) => status === 201).map(({ body }) => body.id);
  for (const { status, body } of answers) if (status !== 201) expect(body.code).toBe('consent_required');
  const { items } = await ledger();
  expect(items.map(({ id }: { id: string }) => id).sort()).toEqual(seen.sort());
  expect((await inspect()).status).toBe(409);
});

test('a caller who lost the right while waiting can neither grant nor inspect', async () => {
  const { tenant, admin, owner, member, app } = await newInspectedApp();
  await sql`update svc.apps set owner_id = ${member.userId} where id = ${app.id}`.execute(database.db);
  const asMember = { tenant: { ...tenant, role: 'tenant_member' as const }, app };
  const grant = testMutation(database.db, owner, (ctx) => setInspectionConsent(ctx, { to: 'granted' }), {
    context: asMember,
  });
  expect(await codeOf(grant)).toBe('forbidden');
  await sql`update svc.memberships set role = 'tenant_member' where user_id = ${admin.userId}`.execute(
    database.db,
  );
  const look = { what: 'tables', reason: 'a look' } as const;
  const late = testMutation(database.db, admin, (ctx) => inspectApp(ctx, look), { context: { tenant, app } });
  expect(await codeOf(late)).toBe('forbidden');
});
