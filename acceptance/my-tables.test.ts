import { expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { openServerDatabase } from './support/database.ts';
import { governedWorld } from './support/governed.ts';
import { done, newMember, type Person } from './support/people.ts';

const world = useFixture(governedWorld);

/** A connector whose schema was read before: `north` and `south` with 120 tables each. */
async function newWarehouse(): Promise<{ id: string; paths: string[] }> {
  const { tenant, server } = world;
  const connection = {
    host: 'warehouse.example.test',
    port: 5432,
    database: 'd',
    username: 'u',
    password: 'p',
    tls: 'require',
  };
  const { id } = await done(
    tenant.admin.call('POST', `${tenant.base}/connectors`, { name: 'Big', kind: 'postgres', connection }),
  );
  const paths = ['north', 'south'].flatMap((schema) =>
    Array.from({ length: 120 }, (_, n) => `${schema}/t${String(n).padStart(3, '0')}`),
  );
  const column = {
    name: 'id',
    type: 'int',
    native_type: 'integer',
    nullable: false,
    expression: null,
    has_byte_order: false,
    has_default: false,
    is_generated: false,
  };
  const database = openServerDatabase(server);
  await database.query(
    `insert into svc.connector_tables (connector_id, tenant_id, schema_name, table_name, kind, columns, primary_key)
     select $1, $2, split_part(path, '/', 1), split_part(path, '/', 2), 'table', $4::text::jsonb, '{id}'
     from jsonb_array_elements_text($3::text::jsonb) path`,
    [id, tenant.id, JSON.stringify(paths), JSON.stringify([column])],
  );
  await database.close();
  return { id, paths };
}

async function pages(person: Person, query: string) {
  const found: string[] = [];
  for (let page = 1; ; page++) {
    const path = `${world.tenant.base}/me/tables?per_page=100&page=${page}${query}`;
    const { items, total } = await done(person.call('GET', path));
    found.push(
      ...items.map((item: { connector_slug: string; path: string }) => `${item.connector_slug} ${item.path}`),
    );
    if (items.length < 100) return { found, total };
  }
}

test('the tables that grants open come in pages, in the order of connectors and paths, each once', async () => {
  const { id, paths } = await newWarehouse();
  const [orders, lines] = [await world.table(['n:int']), await world.table(['n:int'])];
  const person = await newMember(world.tenant);
  const everybody = { connector_id: id, scope_resource_paths: [] };
  const listed = (slug: string, own: readonly string[]) => own.map((path) => `${slug} ${path}`);

  await world.grant(person, world.pathOf(orders));
  await world.grant(person, '', { connector_id: id, scope_resource_paths: ['north', 'south/t007'] });
  // Covered twice.
  await world.grant(person, '', { connector_id: id, scope_resource_paths: ['north/t001'] });
  const some = listed('big', [...paths.slice(0, 120), 'south/t007']);
  const table = listed('tables', [world.pathOf(orders)]);
  expect(await pages(person, '')).toEqual({ found: [...some, ...table], total: 122 });
  expect(await pages(person, '&connector=tables')).toEqual({ found: table, total: 1 });
  expect(await pages(person, `&connector=${id}&path=south`)).toEqual({ found: some.slice(-1), total: 1 });
  expect(await pages(person, '&path=nort')).toEqual({ found: [], total: 0 });
  const beyond = await done(person.call('GET', `${world.tenant.base}/me/tables?per_page=100&page=9`));
  expect([beyond.items, beyond.total]).toEqual([[], 122]);

  await world.grant(person, '', everybody);
  expect(await pages(person, '&connector=big')).toEqual({ found: listed('big', paths), total: 240 });
  const both = await done(person.call('GET', `${world.tenant.base}/me/tables?path=north/t001`));
  expect(both.items.map(({ grants }: { grants: unknown[] }) => grants.length)).toEqual([3]);
  expect(both.items[0].columns).toMatchObject([{ name: 'id', type: 'int', mask: null }]);
  expect((await pages(await newMember(world.tenant), '')).total).toBe(0);
  expect(await pages(person, `&path=${world.pathOf(lines)}`)).toEqual({ found: [], total: 0 });
});
