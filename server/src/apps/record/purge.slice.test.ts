import { expect, test } from 'bun:test';
import { Removed } from '@svc/contract/app-life.shapes.ts';
import { namesReservedDays } from '@svc/contract/apps.ts';
import { sql } from 'kysely';
import { tableRoutes } from '../../data/routes.ts';
import { physicalSchemaName } from '../../data/tables/catalogue.ts';
import { openSecondDatabase, qualifiedTableName } from '../../data/tables/testing.ts';
import { withClient } from '../../drivers/database/connect.ts';
import { loginHeaders, useServer } from '../../identity/provider/testing.ts';
import { newTenant, type TestDatabase, testDeps } from '../../testing.ts';
import { purgeDueApps } from './lifecycle.ts';
import { type LifecycleWorld, lifecycleWorld, newApp, startAppServer } from './testing.ts';

const { database, server } = useServer((database) => startAppServer(database, tableRoutes));

async function world() {
  const t = await lifecycleWorld(database, server);
  const { body: table } = await t.as('owner', 'POST', `${t.path}/tables`, {
    name: 'pets',
    columns: ['age:int'],
  });
  await sql`insert into ${sql.raw(qualifiedTableName(t.app, table))} (c1, c2, c3, c4, v)
    select gen_random_uuid(), n, now(), now(), 1 from generate_series(1, 3) n`.execute(database.db);
  return { ...t, table: table as { id: string } };
}

const hasSchema = async ({ db }: Pick<TestDatabase, 'db'>, app: { id: string }) => {
  const { rows } = await sql<{ there: boolean }>`
    select to_regnamespace(${physicalSchemaName(app.id)}) is not null as there`.execute(db);
  return rows[0]!.there;
};

const nothing = Object.fromEntries(Object.keys(Removed.shape).map((field) => [field, 0]));

async function tokenFor(t: LifecycleWorld, name: string, apps: string[]): Promise<string> {
  const { status, body } = await t.as('owner', 'POST', `/api/v1/tenants/${t.tenant.slug}/pats`, {
    name,
    apps,
  });
  expect(status).toBe(201);
  return body.id;
}

async function tokensOf(t: LifecycleWorld) {
  const { body } = await t.as('owner', 'GET', `/api/v1/tenants/${t.tenant.slug}/pats`);
  const items: { id: string; apps: string[]; status: string }[] = body.items;
  return Object.fromEntries(items.map(({ id, apps, status }) => [id, { apps, status }]));
}

async function putBeside({ tenant, app, people }: LifecycleWorld): Promise<void> {
  const [tenantId, appId, by] = [tenant.id, app.id, people.owner.userId];
  for (const name of ['A', 'B'])
    await sql`insert into svc.app_env (app_id, tenant_id, name, value_sealed, updated_by, updated_at)
      values (${appId}, ${tenantId}, ${name}, '', ${by}, now())`.execute(database.db);
  await sql`
    insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, created_at, ended_at)
    values (gen_random_uuid(), ${tenantId}, ${appId}, 1, 'deploy', 'person', 'canceled', 'docker', 'upload', now(), now())`.execute(
    database.db,
  );
  await sql`
    insert into svc.git_connections (app_id, tenant_id, host, repo_id, repo, is_private, branch, installation_id,
      web_url, clone_url, hook_state, connected_by, connected_at)
    values (${appId}, ${tenantId}, 'here', 1, 'a/b', true, 'main', 1, '', '', 'waiting', ${by}, now())`.execute(
    database.db,
  );
  await sql`
    insert into svc.publication_requests (id, tenant_id, app_id, status, visibility, visibility_before, pinned,
      deployment_id, digest, requested_by, requested_at, expires_at, decided_at)
    values (gen_random_uuid(), ${tenantId}, ${appId}, 'rejected', 'public', 'private', 'live', gen_random_uuid(), '',
      ${by}, now(), now(), now())`.execute(database.db);
}

test('a purge removes everything and lists it in the plan and the response', async () => {
  const t = await world();
  const other = await newApp(database.db, t.tenant, t.people.owner);
  const others = `/api/v1/tenants/${t.tenant.slug}/apps/${other.id}/tables`;
  await t.as('owner', 'POST', others, { name: 'shared' });
  const grant = { actions: ['read'] };
  const toApp = { ...grant, principal_type: 'app', principal_id: t.app.id };
  expect((await t.as('owner', 'POST', `${others}/shared/grants`, toApp)).status).toBe(201);
  const toMember = { ...grant, principal_type: 'user', principal_id: t.people.member.userId };
  expect((await t.as('owner', 'POST', `${t.path}/tables/pets/grants`, toMember)).status).toBe(201);
  const [alone, both, every] = [
    await tokenFor(t, 'alone', [t.app.id]),
    await tokenFor(t, 'both', [other.id, t.app.slug]),
    await tokenFor(t, 'every', []),
  ];
  await sql`insert into svc.app_members (app_id, user_id, added_by, created_at)
    values (${t.app.id}, ${t.people.member.userId}, ${t.people.owner.userId}, now())`.execute(database.db);
  await putBeside(t);
  await t.move('delete');

  const removed = {
    ...nothing,
    tables: 1,
    rows: 3,
    table_grants: 2,
    co_owners: 1,
    members: 1,
    tokens_revoked: 1,
    tokens_narrowed: 1,
    variables: 2,
    deployments: 1,
    git_connections: 1,
    publication_requests: 1,
  };
  const { body: preview } = await t.move('purge', 'owner', '?dry_run=true');
  expect(preview.plan).toMatchObject({ operation: 'apps.purge', irreversible: true });
  expect(preview.plan.target).toEqual({ kind: 'app', id: t.app.id, name: t.app.slug });
  const planned = Object.fromEntries(
    preview.plan.changes.map(({ path, before }: { path: string; before: unknown }) => [path, before]),
  );
  for (const [name, count] of Object.entries(removed)) expect([name, planned[name]]).toEqual([name, count]);
  expect(await hasSchema(database, t.app)).toBe(true);
  expect((await tokensOf(t))[alone]).toEqual({ apps: [t.app.id], status: 'active' });

  const purged = await t.move('purge');
  expect([purged.status, purged.body]).toEqual([200, { id: t.app.id, slug: t.app.slug, removed }]);
  expect(await hasSchema(database, t.app)).toBe(false);
  const tokens = await tokensOf(t);
  expect(tokens[alone]).toEqual({ apps: [t.app.id], status: 'revoked' });
  expect(tokens[both]).toEqual({ apps: [other.id], status: 'active' });
  expect(tokens[every]).toEqual({ apps: [], status: 'active' });
  expect((await t.as('owner', 'GET', `${others}/shared/grants`)).body.total).toBe(0);
  expect(await t.auditActions()).toContain('apps.purge');
  const entries = `/api/v1/tenants/${t.tenant.slug}/audit?per_page=4`;
  const { body } = await t.as('admin', 'GET', entries);
  const actions = body.items.map(({ action }: { action: string }) => action).sort();
  expect(actions).toEqual(['apps.purge', 'pats.narrow', 'pats.revoke', 'tableGrants.revoke']);
});

test("the app's database is closed while deleted, and purged with its objects and icons", async () => {
  const t = await world();
  const [{ id }, { id: tenant }, by] = [t.app, t.tenant, t.people.owner.userId];
  await sql`insert into svc.raw_databases (app_id, tenant_id, database, state, password_sealed, connections_max,
      address, enabled_by, enabled_at)
    values (${id}, ${tenant}, ${`svc_raw_${id.replaceAll('-', '')}`}, 'ready', '', 5, 'postgres://x', ${by}, now())`.execute(
    database.db,
  );
  await sql`insert into svc.app_storage (app_id, tenant_id, enabled_by, enabled_at, objects, bytes)
    values (${id}, ${tenant}, ${by}, now(), 2, 300)`.execute(database.db);
  await sql`insert into svc.icons (id, tenant_id, app_id, variant, content_type, size, sha256, width, height,
      created_by, created_at)
    values (${Bun.randomUUIDv7()}, ${tenant}, ${id}, 'light', 'image/png', 1, ${'0'.repeat(64)}, 1, 1, ${by}, now())`.execute(
    database.db,
  );
  const isClosed = async () => {
    const { rows } = await sql<{ is_closed: boolean }>`
      select is_closed from svc.raw_databases where app_id = ${id}`.execute(database.db);
    return rows[0]?.is_closed;
  };
  await t.move('delete');
  expect(await isClosed()).toBe(true);
  await t.move('restore');
  expect(await isClosed()).toBe(false);
  await t.move('delete');
  const { body } = await t.move('purge');
  expect(body.removed).toMatchObject({ databases: 1, objects: 2, bytes: 300, icons: 1 });
  expect(await isClosed()).toBeUndefined();
});

test('a purged app is gone for everybody, and a second purge gives 404', async () => {
  const t = await world();
  await t.move('delete');
  expect((await t.move('purge', 'admin')).status).toBe(200);
  for (const move of ['purge', 'restore', 'delete', 'archive']) {
    const { status, body } = await t.move(move);
    expect([move, status, body.code]).toEqual([move, 404, 'not_found']);
  }
});

test('a purge repeated with its idempotency key gives the same answer, to its caller only', async () => {
  const t = await world();
  expect((await t.as('owner', 'DELETE', t.path)).status).toBe(200);
  const key = { 'idempotency-key': Bun.randomUUIDv7() };
  const purge = async (who: 'owner' | 'admin') =>
    server.call({ ...(await loginHeaders(database, t.people[who])), ...key }, 'POST', `${t.path}/purge`);
  const [first, again] = [await purge('owner'), await purge('owner')];
  expect([first.status, again.status, again.body]).toEqual([200, 200, first.body]);
  expect((await purge('admin')).status).toBe(404);
});

test('rows of a large table are estimated, not counted', async () => {
  const t = await world();
  const { body: large } = await t.as('owner', 'POST', `${t.path}/tables`, {
    name: 'large',
    columns: ['a:text'],
  });
  await sql`insert into ${sql.raw(qualifiedTableName(t.app, large))} (c1, c2, c3, c4, v)
    select gen_random_uuid(), repeat('x', 1000), now(), now(), 1 from generate_series(1, 10000)`.execute(
    database.db,
  );
  await sql`analyze ${sql.raw(qualifiedTableName(t.app, large))}`.execute(database.db);
  await t.move('delete');
  const { rows } = (await t.move('purge')).body.removed;
  expect([rows > 5_000, rows < 20_000]).toEqual([true, true]);
});

test('only a deleted app is purged', async () => {
  const t = await world();
  for (const record of ['active', 'archived']) {
    await t.set({ record });
    const { status, body } = await t.move('purge');
    expect([record, status, body.code]).toEqual([record, 409, 'not_deleted']);
  }
  expect(await hasSchema(database, t.app)).toBe(true);
});

test('the slug is free at once; the subdomain stays reserved for the tenant', async () => {
  const t = await world();
  const { slug } = t.app;
  await t.move('delete');
  const create = (login: Record<string, string>, tenant: string, body: object) =>
    server.call(login, 'POST', `/api/v1/tenants/${tenant}/apps`, body);
  const own = await loginHeaders(database, t.people.member);
  const wanted = { name: 'Again', slug, subdomain: slug };
  const kept = await create(own, t.tenant.slug, wanted);
  expect([kept.status, kept.body.code]).toEqual([409, 'slug_taken']);
  await t.move('purge');

  const elsewhere = await newTenant(database.db);
  const theirs = await loginHeaders(database, elsewhere.member);
  const refused = await create(theirs, elsewhere.tenant.slug, wanted);
  expect([refused.status, refused.body.code]).toEqual([409, 'subdomain_taken']);
  const { rows } = await sql<{ days: number }>`
    select round(extract(epoch from until - now()) / 86400)::int as days from svc.reserved_names
    where name = ${slug} and tenant_id = ${t.tenant.id}`.execute(database.db);
  expect(rows).toEqual([{ days: namesReservedDays }]);
  const again = await create(own, t.tenant.slug, wanted);
  expect([again.status, again.body.subdomain]).toEqual([201, slug]);
  expect(again.body.id).not.toBe(t.app.id);
});

test('after the reservation, another tenant can take the subdomain', async () => {
  const t = await world();
  const { slug } = t.app;
  await t.move('delete');
  await t.move('purge');
  await sql`update svc.reserved_names set until = now() where name = ${slug}`.execute(database.db);
  const elsewhere = await newTenant(database.db);
  const theirs = await loginHeaders(database, elsewhere.member);
  const body = { name: 'Theirs', slug, subdomain: slug };
  expect(
    (await server.call(theirs, 'POST', `/api/v1/tenants/${elsewhere.tenant.slug}/apps`, body)).status,
  ).toBe(201);
});

test('a purge during a long read of a table answers table_busy and removes nothing', async () => {
  const t = await world();
  const token = await tokenFor(t, 'alone', [t.app.id]);
  await t.move('delete');
  const busy = await withClient(database.url, async (reader) => {
    await reader.query(`begin; select * from ${qualifiedTableName(t.app, t.table)}`);
    const answer = await t.move('purge');
    await reader.query('rollback');
    return answer;
  });
  expect([busy.status, busy.body.code]).toEqual([409, 'table_busy']);
  expect([await hasSchema(database, t.app), (await t.stored())?.record]).toEqual([true, 'deleted']);
  expect((await tokensOf(t))[token]?.status).toBe('active');
  expect((await t.move('purge')).status).toBe(200);
});

test('creating a table while the app is deleted and purged leaves nothing behind', async () => {
  for (let round = 0; round < 3; round++) {
    const t = await lifecycleWorld(database, server);
    const making = t.as('owner', 'POST', `${t.path}/tables`, { name: 'late' });
    expect((await t.move('delete', 'admin')).status).toBe(200);
    expect((await t.move('purge', 'admin')).status).toBe(200);
    expect([201, 404]).toContain((await making).status);
    expect(await hasSchema(database, t.app)).toBe(false);
  }
});

const due = (t: LifecycleWorld, days: number) =>
  sql`update svc.apps set purge_after = now() - make_interval(days => ${days}) where id = ${t.app.id}`.execute(
    database.db,
  );
const sweep = () => purgeDueApps({ db: database.db, ...testDeps, rows: database.rows });

test('apps deleted long enough ago are purged by the job, as the operator', async () => {
  const [over, young, restored] = [await world(), await world(), await world()];
  for (const t of [over, young, restored]) await t.move('delete');
  await due(over, 1);
  await due(restored, 1);
  await restored.move('restore');
  await sweep();
  expect([await over.stored(), await hasSchema(database, over.app)]).toEqual([undefined, false]);
  expect((await young.stored())?.record).toBe('deleted');
  expect((await restored.stored())?.record).toBe('active');
  const { rows } = await sql<{ actor_kind: string }>`select actor_kind from svc.audit_entries
    where tenant_id = ${over.tenant.id} and action = 'apps.purge'`.execute(database.db);
  expect(rows).toEqual([{ actor_kind: 'operator' }]);
  await sweep();
});

test('an app in use is purged on a later run, and does not delay other apps', async () => {
  const [busy, free] = [await world(), await world()];
  for (const t of [busy, free]) await t.move('delete');
  await due(busy, 2);
  await due(free, 1);
  await withClient(database.url, async (reader) => {
    await reader.query(`begin; select * from ${qualifiedTableName(busy.app, busy.table)}`);
    await sweep();
    await reader.query('rollback');
  });
  expect([(await busy.stored())?.record, await free.stored()]).toEqual(['deleted', undefined]);
  await sweep();
  expect(await busy.stored()).toBeUndefined();
});

test('a purge drops the schema on a separate row server, also if it is already missing', async () => {
  const elsewhere = await openSecondDatabase(database);
  const far = { ...database, rows: elsewhere.rows };
  const copy = await startAppServer(far, tableRoutes);
  try {
    for (const before of ['there', 'gone']) {
      const t = await lifecycleWorld(far, copy);
      expect((await t.as('owner', 'POST', `${t.path}/tables`, { name: 'far' })).status).toBe(201);
      expect(await hasSchema(elsewhere, t.app)).toBe(true);
      if (before === 'gone')
        await sql`drop schema ${sql.id(physicalSchemaName(t.app.id))} cascade`.execute(elsewhere.db);
      await t.move('delete');
      const purged = await t.move('purge');
      expect([purged.status, purged.body.removed?.tables]).toEqual([200, 1]);
      expect([await hasSchema(elsewhere, t.app), await t.stored()]).toEqual([false, undefined]);
    }
  } finally {
    await copy.stop();
    await elsewhere.close();
  }
});
