import { expect, test } from 'bun:test';
import { categoriesPerTenantMax } from '@svc/contract/categories.ts';
import { sql } from 'kysely';
import { loginHeaders, peopleRoutes, startServerCopy, useServer } from '../../identity/provider/testing.ts';
import { codeOf, newTenant, type TestTenant, testMutation, untilBlocked } from '../../testing.ts';
import { detachCategory } from '../record/update-app.ts';
import { appRoutes, categoryRoutes } from '../routes.ts';
import {
  type CategoryRecord,
  createCategory,
  deleteCategory,
  detachBatchMax,
  findCategory,
  lockCategoryForShare,
} from './categories.ts';

const { database, server } = useServer((database) =>
  startServerCopy(database, undefined, [...peopleRoutes, ...appRoutes, ...categoryRoutes(null)]),
);

async function newCategory(
  own: TestTenant,
  set: Partial<Parameters<typeof createCategory>[1]> = {},
): Promise<CategoryRecord> {
  const name = `c-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
  const input = { name, description: '', color: '', icon_url: '', display_order: 0, ...set };
  return (await testMutation(database.db, own.admin, (ctx) => createCategory(ctx, input), own)).value;
}

/** Returns the ids in ascending order. */
async function newAppsIn(categoryId: string, { tenant, member }: TestTenant, count = 1): Promise<string[]> {
  const ids = Array.from({ length: count }, () => Bun.randomUUIDv7());
  await sql`insert into svc.apps (id, tenant_id, slug, name, owner_id, category_id, owner_since, created_at, updated_at)
    select id::uuid, ${tenant.id}, 'many-' || right(id, 12), 'Many', ${member.userId}, ${categoryId}, now(), now(), now()
    from unnest(${ids}::text[]) id`.execute(database.db);
  return ids;
}

async function world() {
  const own = await newTenant(database.db);
  const path = `/api/v1/tenants/${own.tenant.slug}/categories`;
  return {
    ...own,
    path,
    asAdmin: await loginHeaders(database, own.admin),
    asMember: await loginHeaders(database, own.member),
  };
}

test('a category has the requested fields, and a slug derived from its name', async () => {
  const { tenant, path, asAdmin, asMember } = await world();
  const fields = {
    name: 'Haustiere & Café',
    description: 'All that lives',
    color: '#00897b',
    icon_url: 'https://example.test/icons/0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31',
    display_order: 7,
  };
  const made = await server.call(asAdmin, 'POST', path, fields);
  expect([made.status, made.body]).toMatchObject([
    201,
    { ...fields, slug: 'haustiere-cafe', tenant_id: tenant.id },
  ]);
  for (const ref of [made.body.id, 'haustiere-cafe']) {
    expect((await server.call(asMember, 'GET', `${path}/${ref}`)).body).toEqual(made.body);
  }
  const nameless = await server.call(asAdmin, 'POST', path, { name: '日本' });
  expect([nameless.status, nameless.body.errors[0].field]).toEqual([400, 'slug']);
});

test('lists are sorted by display order, then by name regardless of case, and paged', async () => {
  const own = await world();
  const { path, asMember } = own;
  for (const [name, display_order] of [
    ['beta', 0],
    ['Alpha', 0],
    ['zeta', -5],
    ['gamma', 9],
  ] as const) {
    await newCategory(own, { name, display_order });
  }
  const { body } = await server.call(asMember, 'GET', path);
  expect(body.items.map((item: { name: string }) => item.name)).toEqual(['zeta', 'Alpha', 'beta', 'gamma']);
  const second = await server.call(asMember, 'GET', `${path}?page=2&per_page=3`);
  expect(second.body).toEqual({ items: body.items.slice(3), page: 2, per_page: 3, total: 4 });
});

test('a slug is unique in a tenant, also with concurrent requests', async () => {
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

test('an update changes only the fields that it names; without a change `updated_at` stays', async () => {
  const own = await world();
  const { path, asAdmin } = own;
  const made = await newCategory(own, {
    name: 'Pets',
    slug: 'pets',
    color: '#aabbcc',
    display_order: 4,
  });
  const same = await server.call(asAdmin, 'PATCH', `${path}/pets`, { name: 'Pets', slug: 'pets' });
  expect(same.body).toEqual({ ...made, changed: false });
  const changed = await server.call(asAdmin, 'PATCH', `${path}/pets`, { slug: 'animals', color: '' });
  expect(changed.body).toEqual({ ...made, slug: 'animals', color: '', updated_at: changed.body.updated_at });
  expect(changed.body.updated_at > made.updated_at).toBeTrue();
  expect((await server.call(asAdmin, 'GET', `${path}/pets`)).status).toBe(404);
});

test('members can read but not change categories', async () => {
  const own = await world();
  const { path, asMember } = own;
  const { slug } = await newCategory(own);
  for (const [method, at, body] of [
    ['POST', path, { name: 'Pets' }],
    ['PATCH', `${path}/${slug}`, { name: 'Pets' }],
    ['DELETE', `${path}/${slug}`, undefined],
  ] as const) {
    const answer = await server.call(asMember, method, at, body);
    expect([method, answer.status, answer.body.code]).toEqual([method, 403, 'forbidden']);
  }
});

test('the number of categories is limited, also with concurrent requests', async () => {
  const { tenant, path, asAdmin } = await world();
  await sql`insert into svc.categories (id, tenant_id, slug, name, created_at, updated_at)
    select gen_random_uuid(), ${tenant.id}, 'c' || n, 'c' || n, now(), now()
    from generate_series(1, ${categoriesPerTenantMax - 1}::int) n`.execute(database.db);
  const answers = await Promise.all(
    ['one', 'two', 'three'].map((name) => server.call(asAdmin, 'POST', path, { name })),
  );
  const outcomes = answers.map(({ status, body }) => body.code ?? status).sort();
  expect(outcomes).toEqual([201, 'limit_reached', 'limit_reached']);
});

test('deleting a category keeps its apps; the plan shows how many lose their category', async () => {
  const own = await world();
  const { tenant, path, asAdmin } = own;
  const [going, staying] = [await newCategory(own), await newCategory(own)];
  const apps = [...(await newAppsIn(going.id, own, 2)), ...(await newAppsIn(staying.id, own))];
  const { body } = await server.call(asAdmin, 'DELETE', `${path}/${going.slug}?dry_run=true`);
  expect(body.plan).toMatchObject({
    target: { kind: 'category', id: going.id, name: going.slug },
    warnings: ['2 apps will have no category.'],
    irreversible: true,
  });
  expect(body.plan.changes).toContainEqual({ path: 'apps', before: 2, after: null, effect: 'delete' });
  expect((await server.call(asAdmin, 'GET', `${path}/${going.id}`)).status).toBe(200);

  expect((await server.call(asAdmin, 'DELETE', `${path}/${going.id}`)).status).toBe(204);
  expect((await server.call(asAdmin, 'DELETE', `${path}/${going.id}`)).status).toBe(404);
  const { rows } = await sql<{ id: string; category_id: string | null }>`
    select id, category_id from svc.apps where tenant_id = ${tenant.id} order by id`.execute(database.db);
  expect(rows).toEqual(apps.map((id, at) => ({ id, category_id: at < 2 ? null : staying.id })));
});

async function deletedWithMany() {
  const own = await world();
  const going = await newCategory(own, { name: 'Pets', slug: 'pets' });
  const { admin } = own;
  await newAppsIn(going.id, own, detachBatchMax + 1);
  const { result } = await testMutation(database.db, admin, (ctx) => deleteCategory(ctx, going.id), own);
  expect(result.kind).toBe('done');
  const { rows } = await sql<{ payload: Record<string, unknown> }>`
    delete from svc.outbox where topic = 'categories.detach' and payload->>'categoryId' = ${going.id}
    returning payload`.execute(database.db);
  const left = async () => {
    const apps = await sql<{ count: number }>`
      select count(*) from svc.apps where category_id = ${going.id}`.execute(database.db);
    const categories = await sql`select from svc.categories where id = ${going.id}`.execute(database.db);
    return { apps: Number(apps.rows[0]?.count), categories: categories.rows.length };
  };
  return { ...own, going, effects: rows.map(({ payload }) => payload), left };
}

test('a deleted category with many apps disappears at once, and its slug is free', async () => {
  const { tenant, going, path, asAdmin, left } = await deletedWithMany();
  expect(await left()).toEqual({ apps: detachBatchMax + 1, categories: 1 });
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
    detachBatchMax + 1,
    [null, null],
  ]);
  const [{ id }] = items;
  expect((await server.call(asAdmin, 'GET', `${apps}/${id}`)).body.category_id).toBeNull();
  const search = await server.call(asAdmin, 'GET', `${apps}/search?q=many&limit=1`);
  expect(search.body.items).toMatchObject([{ category_id: null }]);
  const again = await server.call(asAdmin, 'POST', path, { name: 'Pets' });
  expect([again.status, again.body.slug]).toEqual([201, going.slug]);
});

test('the job detaches its apps, also when repeated or interrupted', async () => {
  const { tenant, going, effects, left } = await deletedWithMany();
  expect(effects).toEqual([{ tenantId: tenant.id, categoryId: going.id }]);
  await sql`update svc.apps set category_id = null where id in
    (select id from svc.apps where category_id = ${going.id} limit 7)`.execute(database.db);
  for (let times = 0; times < 2; times++) {
    for (const effect of effects) await detachCategory(database)(effect);
    expect(await left()).toEqual({ apps: 0, categories: 0 });
  }
});

test('the job never detaches apps of an existing category', async () => {
  const own = await world();
  const { id } = await newCategory(own);
  const [app] = await newAppsIn(id, own);
  await detachCategory(database)({ tenantId: own.tenant.id, categoryId: id });
  const { rows } = await sql`select category_id from svc.apps where id = ${app}`.execute(database.db);
  expect([rows, (await server.call(own.asAdmin, 'GET', `${own.path}/${id}`)).status]).toEqual([
    [{ category_id: id }],
    200,
  ]);
});

test('a request that waits for a category that is being deleted does not find it', async () => {
  const own = await world();
  const { id } = await newCategory(own);
  const { tenant } = own;
  await newAppsIn(id, own, detachBatchMax + 1);
  let waiting: Promise<unknown> = Promise.resolve();
  await testMutation(
    database.db,
    own.admin,
    async (ctx) => {
      await deleteCategory(ctx, id);
      const tx = await database.db.startTransaction().execute();
      waiting = lockCategoryForShare(tx, tenant.id, id).finally(() => tx.rollback().execute());
      await untilBlocked(database.db);
    },
    own,
  );
  expect(await waiting).toBeUndefined();
});

test('an empty category is deleted without a warning', async () => {
  const own = await world();
  const { slug } = await newCategory(own);
  const { body } = await server.call(own.asAdmin, 'DELETE', `${own.path}/${slug}?dry_run=true`);
  expect(body.plan.warnings).toEqual([]);
});

test('other slices find a category by id or slug, in its own tenant only', async () => {
  const [own, other] = [await world(), await world()];
  const { id, slug, name } = await newCategory(own);
  for (const ref of [id, id.toUpperCase(), slug]) {
    expect(await findCategory(database.db, own.tenant.id, ref)).toMatchObject({ id, slug, name });
    expect(await findCategory(database.db, other.tenant.id, ref)).toBeUndefined();
  }
  const theirs = testMutation(database.db, other.admin, (ctx) => deleteCategory(ctx, id), other);
  expect(await codeOf(theirs)).toBe('not_found');
});

test('a locked category is not deleted before the lock is released', async () => {
  const own = await world();
  const { id } = await newCategory(own);
  const order: string[] = [];
  const tx = await database.db.startTransaction().execute();
  expect(await lockCategoryForShare(tx, own.tenant.id, id)).toMatchObject({ id });
  const deleted = server
    .call(own.asAdmin, 'DELETE', `${own.path}/${id}`)
    .then(({ status }) => order.push(`deleted ${status}`));
  await untilBlocked(database.db);
  order.push('released');
  await tx.commit().execute();
  await deleted;
  expect(order).toEqual(['released', 'deleted 204']);
});
