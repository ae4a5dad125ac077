import { afterAll, beforeAll, expect, test } from 'bun:test';
import { categoriesPerTenantMax } from '@svc/contract/categories.ts';
import { sql } from 'kysely';
import { appRoutes } from '../apps/routes.ts';
import { copyOfServer, loginOf, peopleRoutes, type ServerCopy } from '../identity/testing.ts';
import type { Db } from '../plumbing/db.ts';
import { codeOf, newTenant, type TestDatabase, testDatabase, testMutation } from '../testing.ts';
import { deleteCategory } from './delete-category.ts';
import { detachApps } from './detach-apps.ts';
import { findCategory, holdCategory } from './find-category.ts';
import { categoryRoutes } from './routes.ts';
import { appsAtOnceMax } from './rules.ts';
import { appIn, appsIn, newCategory } from './testing.ts';

let database: TestDatabase;
let db: Db;
let server: ServerCopy;
beforeAll(async () => {
  database = await testDatabase();
  db = database.db;
  server = await copyOfServer(database, undefined, [...peopleRoutes, ...appRoutes, ...categoryRoutes]);
});
afterAll(async () => {
  await server.stop();
  await database.close();
});

async function world() {
  const own = await newTenant(db);
  const path = `/api/v1/tenants/${own.tenant.slug}/categories`;
  return {
    ...own,
    path,
    asAdmin: await loginOf(database, own.admin),
    asMember: await loginOf(database, own.member),
  };
}

test('a category has what was said of it, and a slug from its name', async () => {
  const { tenant, path, asAdmin, asMember } = await world();
  const said = {
    name: 'Haustiere & Café',
    description: 'All that lives',
    color: '#00897b',
    icon_url: 'https://example.test/pets.svg',
    display_order: 7,
  };
  const made = await server.call(asAdmin, 'POST', path, said);
  expect([made.status, made.body]).toMatchObject([
    201,
    { ...said, slug: 'haustiere-cafe', tenant_id: tenant.id },
  ]);
  for (const ref of [made.body.id, 'haustiere-cafe']) {
    expect((await server.call(asMember, 'GET', `${path}/${ref}`)).body).toEqual(made.body);
  }
  const nameless = await server.call(asAdmin, 'POST', path, { name: '日本' });
  expect([nameless.status, nameless.body.errors[0].field]).toEqual([400, 'slug']);
});

test('lists go by display order, then by name whatever its case, page by page', async () => {
  const own = await world();
  const { path, asMember } = own;
  for (const [name, display_order] of [
    ['beta', 0],
    ['Alpha', 0],
    ['zeta', -5],
    ['gamma', 9],
  ] as const) {
    await newCategory(db, own, { name, display_order });
  }
  const { body } = await server.call(asMember, 'GET', path);
  expect(body.items.map((item: { name: string }) => item.name)).toEqual(['zeta', 'Alpha', 'beta', 'gamma']);
  const second = await server.call(asMember, 'GET', `${path}?page=2&per_page=3`);
  expect(second.body).toEqual({ items: body.items.slice(3), page: 2, per_page: 3, total: 4 });
});

test('a slug is there once in a tenant, also when several ask for it at once', async () => {
  const { path, asAdmin } = await world();
  const answers = await Promise.all(
    [1, 2, 3, 4].map(() => server.call(asAdmin, 'POST', path, { name: 'Pets' })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
  const refused = answers.find(({ status }) => status === 409)?.body;
  expect([refused.code, refused.errors[0].field]).toEqual(['unique_violation', 'slug']);
  await server.call(asAdmin, 'POST', path, { name: 'Other', slug: 'other' });
  const taken = await server.call(asAdmin, 'PATCH', `${path}/other`, { slug: 'pets' });
  expect([taken.status, taken.body.code]).toEqual([409, 'unique_violation']);
  const elsewhere = await world();
  expect((await server.call(elsewhere.asAdmin, 'POST', elsewhere.path, { name: 'Pets' })).status).toBe(201);
});

test('a change touches what it names alone, and one that changes nothing leaves the time of the last', async () => {
  const own = await world();
  const { path, asAdmin } = own;
  const made = await newCategory(db, own, { name: 'Pets', slug: 'pets', color: '#aabbcc', display_order: 4 });
  const same = await server.call(asAdmin, 'PATCH', `${path}/pets`, { name: 'Pets', slug: 'pets' });
  expect(same.body).toEqual({ ...made, changed: false });
  const changed = await server.call(asAdmin, 'PATCH', `${path}/pets`, { slug: 'animals', color: '' });
  expect(changed.body).toEqual({ ...made, slug: 'animals', color: '', updated_at: changed.body.updated_at });
  expect(changed.body.updated_at > made.updated_at).toBeTrue();
  expect((await server.call(asAdmin, 'GET', `${path}/pets`)).status).toBe(404);
});

test('members read and change nothing', async () => {
  const own = await world();
  const { path, asMember } = own;
  const { slug } = await newCategory(db, own);
  for (const [method, at, body] of [
    ['POST', path, { name: 'Pets' }],
    ['PATCH', `${path}/${slug}`, { name: 'Pets' }],
    ['DELETE', `${path}/${slug}`, undefined],
  ] as const) {
    const answer = await server.call(asMember, method, at, body);
    expect([method, answer.status, answer.body.code]).toEqual([method, 403, 'forbidden']);
  }
});

test('a tenant has at most so many, also when the last place is asked for by several at once', async () => {
  const { tenant, path, asAdmin } = await world();
  await sql`insert into svc.categories (id, tenant_id, slug, name, created_at, updated_at)
    select gen_random_uuid(), ${tenant.id}, 'c' || n, 'c' || n, now(), now()
    from generate_series(1, ${categoriesPerTenantMax - 1}::int) n`.execute(db);
  const answers = await Promise.all(
    ['one', 'two', 'three'].map((name) => server.call(asAdmin, 'POST', path, { name })),
  );
  expect(answers.map(({ status, body }) => body.code ?? status).sort()).toEqual([
    ...[201, 'limit_reached', 'limit_reached'],
  ]);
});

test('a category goes without its apps: the plan says how many, and they stand in none', async () => {
  const own = await world();
  const { tenant, member: owner, path, asAdmin } = own;
  const [going, staying] = [await newCategory(db, own), await newCategory(db, own)];
  const apps = [
    await appIn(db, { tenant, owner, categoryId: going.id }),
    await appIn(db, { tenant, owner, categoryId: going.id }),
    await appIn(db, { tenant, owner, categoryId: staying.id }),
  ];
  const { body } = await server.call(asAdmin, 'DELETE', `${path}/${going.slug}?dry_run=true`);
  expect(body.plan).toMatchObject({
    target: { kind: 'category', id: going.id, name: going.slug },
    warnings: ['2 apps stand in it, and will stand in none.'],
    irreversible: true,
  });
  expect(body.plan.changes).toContainEqual({ path: 'apps', before: 2, after: null, effect: 'delete' });
  expect((await server.call(asAdmin, 'GET', `${path}/${going.id}`)).status).toBe(200);

  expect((await server.call(asAdmin, 'DELETE', `${path}/${going.id}`)).status).toBe(204);
  expect((await server.call(asAdmin, 'DELETE', `${path}/${going.id}`)).status).toBe(404);
  const { rows } = await sql<{ id: string; category_id: string | null }>`
    select id, category_id from svc.apps where tenant_id = ${tenant.id} order by id`.execute(db);
  expect(rows).toEqual(apps.map((id, at) => ({ id, category_id: at < 2 ? null : staying.id })));
});

/** A category with more apps than are taken out of it at once, deleted; the effect that is left to do. */
async function deletedWithMany() {
  const own = await world();
  const going = await newCategory(db, own, { name: 'Pets', slug: 'pets' });
  const { tenant, admin, member: owner } = own;
  await appsIn(db, { tenant, owner, categoryId: going.id, count: appsAtOnceMax + 1 });
  const { result } = await testMutation(db, admin, (ctx) => deleteCategory(ctx, { category: going.id }), own);
  expect(result.kind).toBe('done');
  const { rows } = await sql<{ payload: Record<string, unknown> }>`
    delete from svc.outbox where topic = 'categories.detach' and payload->>'categoryId' = ${going.id}
    returning payload`.execute(db);
  const left = async () => {
    const apps = await sql<{ count: number }>`
      select count(*) from svc.apps where category_id = ${going.id}`.execute(db);
    const categories = await sql`select from svc.categories where id = ${going.id}`.execute(db);
    return { apps: Number(apps.rows[0]?.count), categories: categories.rows.length };
  };
  return { ...own, going, effects: rows.map(({ payload }) => payload), left };
}

test('a category with many apps is gone at once: no app is shown or found in it, and its slug is free', async () => {
  const { tenant, going, path, asAdmin, left } = await deletedWithMany();
  expect(await left()).toEqual({ apps: appsAtOnceMax + 1, categories: 1 });
  for (const ref of [going.id, going.slug])
    for (const [method, body] of [
      ['GET', undefined],
      ['PATCH', { name: 'Again' }],
      ['DELETE', undefined],
    ] as const)
      expect([method, (await server.call(asAdmin, method, `${path}/${ref}`, body)).status]).toEqual([
        method,
        404,
      ]);
  expect((await server.call(asAdmin, 'GET', path)).body).toMatchObject({ items: [], total: 0 });
  const apps = `/api/v1/tenants/${tenant.slug}/apps`;
  for (const ref of [going.id, going.slug])
    expect((await server.call(asAdmin, 'GET', `${apps}?category_id=${ref}`)).body.total).toBe(0);
  const { items, total } = (await server.call(asAdmin, 'GET', `${apps}?per_page=2`)).body;
  expect([total, items.map((app: { category_id: string | null }) => app.category_id)]).toEqual([
    appsAtOnceMax + 1,
    [null, null],
  ]);
  const [{ id }] = items;
  expect((await server.call(asAdmin, 'GET', `${apps}/${id}`)).body.category_id).toBeNull();
  const search = await server.call(asAdmin, 'GET', `${apps}/search?q=many&limit=1`);
  expect(search.body.items).toMatchObject([{ category_id: null }]);
  const again = await server.call(asAdmin, 'POST', path, { name: 'Pets' });
  expect([again.status, again.body.slug]).toEqual([201, going.slug]);
});

test('its apps are taken out behind it, also when that is done twice or was stopped in between', async () => {
  const { tenant, going, effects, left } = await deletedWithMany();
  expect(effects).toEqual([{ tenantId: tenant.id, categoryId: going.id }]);
  // Stopped after some.
  await sql`update svc.apps set category_id = null where id in
    (select id from svc.apps where category_id = ${going.id} limit 7)`.execute(db);
  for (let times = 0; times < 2; times++) {
    for (const effect of effects) await detachApps({ db })(effect);
    expect(await left()).toEqual({ apps: 0, categories: 0 });
  }
});

test('a category that stands is never emptied by what is left of another', async () => {
  const own = await world();
  const { id } = await newCategory(db, own);
  const app = await appIn(db, { tenant: own.tenant, owner: own.member, categoryId: id });
  await detachApps({ db })({ tenantId: own.tenant.id, categoryId: id });
  const { rows } = await sql`select category_id from svc.apps where id = ${app}`.execute(db);
  expect([rows, (await server.call(own.asAdmin, 'GET', `${own.path}/${id}`)).status]).toEqual([
    [{ category_id: id }],
    200,
  ]);
});

test('who waits to put an app into a category that is being deleted finds none', async () => {
  const own = await world();
  const { id } = await newCategory(db, own);
  const { tenant, member: owner } = own;
  await appsIn(db, { tenant, owner, categoryId: id, count: appsAtOnceMax + 1 });
  let waiting: Promise<unknown> = Promise.resolve();
  await testMutation(
    db,
    own.admin,
    async (ctx) => {
      await deleteCategory(ctx, { category: id });
      const tx = await db.startTransaction().execute();
      waiting = holdCategory(tx, tenant.id, { ref: id }).finally(() => tx.rollback().execute());
      await blocked();
    },
    own,
  );
  expect(await waiting).toBeNull();
});

test('an empty category goes without a warning', async () => {
  const own = await world();
  const { slug } = await newCategory(db, own);
  const { body } = await server.call(own.asAdmin, 'DELETE', `${own.path}/${slug}?dry_run=true`);
  expect(body.plan.warnings).toEqual([]);
});

test('other slices find it by id or slug, in its own tenant alone', async () => {
  const [own, other] = [await world(), await world()];
  const { id, slug, name } = await newCategory(db, own);
  for (const ref of [id, id.toUpperCase(), slug]) {
    expect(await findCategory(db, own.tenant.id, { ref })).toEqual({ id, slug, name });
    expect(await findCategory(db, other.tenant.id, { ref })).toBeNull();
  }
  const theirs = testMutation(db, other.admin, (ctx) => deleteCategory(ctx, { category: id }), other);
  expect(await codeOf(theirs)).toBe('not_found');
});

test('what is held is not deleted before whoever holds it is done', async () => {
  const own = await world();
  const { id } = await newCategory(db, own);
  const order: string[] = [];
  const tx = await db.startTransaction().execute();
  expect(await holdCategory(tx, own.tenant.id, { ref: id })).toMatchObject({ id });
  const deleted = server
    .call(own.asAdmin, 'DELETE', `${own.path}/${id}`)
    .then(({ status }) => order.push(`deleted ${status}`));
  await blocked();
  order.push('let go');
  await tx.commit().execute();
  await deleted;
  expect(order).toEqual(['let go', 'deleted 204']);
});

/** Until somebody in this database waits for a lock. */
async function blocked(): Promise<void> {
  for (;;) {
    const { rows } = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    if (rows.length > 0) return;
  }
}
