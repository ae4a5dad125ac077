import { expect, test } from 'bun:test';
import { unknownSettings } from '@svc/contract/detect/settings.ts';
import { templatesMax } from '@svc/contract/templates.ts';
import { sql } from 'kysely';
import { loginHeaders, peopleRoutes, startServerCopy, useServer } from '../../identity/provider/testing.ts';
import { newTenant, testMutation } from '../../testing.ts';
import { templateRoutes } from '../routes.ts';
import { createTemplate } from './templates.ts';

const { database, server } = useServer((opened) =>
  startServerCopy(opened, undefined, [...peopleRoutes, ...templateRoutes]),
);

async function world() {
  const { tenant, member } = await newTenant(database.db);
  const login = await loginHeaders(database, member);
  const list = (query = '') => server.call(login, 'GET', `/api/v1/tenants/${tenant.slug}/templates${query}`);
  return { tenant, list };
}

test('there are three built-in templates, each with an alias', async () => {
  const { list } = await world();
  const { status, body } = await list();
  expect([status, body.total]).toEqual([200, 3]);
  expect(body.items).toMatchObject([
    { alias: 'astro', framework: 'astro', deploy_method: 'static', built_in: true },
    { alias: 'nextjs', framework: 'nextjs', deploy_method: 'docker', built_in: true },
    { alias: 'react', framework: 'react', deploy_method: 'static', built_in: true },
  ]);
});

test('templates of the tenant follow, invisible to others', async () => {
  const [own, other] = [await world(), await world()];
  const id = Bun.randomUUIDv7();
  await sql`insert into svc.templates (id, tenant_id, alias, name, description, framework, deploy_method)
    values (${id}, ${own.tenant.id}, null, 'A house style', '', 'vue', 'compose')`.execute(database.db);
  const last = await own.list('?page=2&per_page=3');
  expect(last.body).toEqual({
    items: [
      {
        id,
        alias: null,
        name: 'A house style',
        description: '',
        framework: 'vue',
        deploy_method: 'compose',
        built_in: false,
        repo: null,
        ref: null,
      },
    ],
    page: 2,
    per_page: 3,
    total: 4,
  });
  expect((await other.list()).body.total).toBe(3);
});

test('the limit of templates holds for concurrent additions', async () => {
  const { tenant, member } = await newTenant(database.db);
  await sql`insert into svc.templates (id, tenant_id, name, description, framework, deploy_method)
    select gen_random_uuid(), ${tenant.id}, 'One', '', 'html', 'static' from generate_series(1, ${templatesMax - 1})`.execute(
    database.db,
  );
  const add = () =>
    testMutation(
      database.db,
      member,
      async (ctx) => createTemplate(ctx, { name: 'Another', description: '', repo: 'o/r' }, unknownSettings),
      { context: { tenant } },
    );
  const added = await Promise.allSettled([add(), add(), add()]);
  expect(added.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from svc.templates where tenant_id = ${tenant.id}`.execute(database.db);
  expect(rows[0]?.n).toBe(templatesMax);
});
