import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { withClient } from '../../drivers/database/connect.ts';
import { useTestDatabase } from '../../testing.ts';
import { physicalColumnName, physicalIndexName, physicalTableName } from './catalogue.ts';
import { attributesMax } from './rules.ts';
import { insertRow, newTestTables, physicalState, qualifiedTableName, type TestTables } from './testing.ts';

const database = useTestDatabase();

const id = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;

/** A table `a` with `x:int`, `y:text:nullable` and two rows; `y` is null in the second. */
async function tableWithRows() {
  const t = await newTestTables(database);
  const table = await t.table('a', ['x:int', 'y:text:nullable']);
  const times = { 4: new Date(0), 5: new Date(0) };
  await insertRow(database, t, table, { 1: id(1), 2: 10, 3: 'one', ...times });
  await insertRow(database, t, table, { 1: id(2), 2: 20, 3: null, ...times });
  const values = async (column: string) => {
    const found = (await t.catalogue('a'))?.columns.find(({ name }) => name === column);
    const { rows } = await sql<{ value: unknown }>`
      select ${sql.raw(found?.physical ?? '')} as value from ${sql.raw(qualifiedTableName(t.app, table))} order by c1`.execute(
      database.db,
    );
    return rows.map((row) => row.value);
  };
  return { ...t, table, values };
}

describe('adding a column', () => {
  test('appends it and increments the version; a nullable column is null in existing rows', async () => {
    const t = await tableWithRows();
    const { status, body } = await t.call('POST', '/a/columns', 'z:bool:nullable');
    expect([status, body.version, body.columns.at(-1).name]).toEqual([201, 2, 'z']);
    expect(await t.values('z')).toEqual([null, null]);
  });

  test.each<[string, unknown]>([
    [`z:text:it's :: "so"`, `it's :: "so"`],
    ['z:text:', ''],
    ['z:text:nullable:nullable', 'nullable'],
    ['z:int:-5', -5],
    ['z:float:1.5', 1.5],
    ['z:bool:true', true],
    ['z:jsonb:{"a":[1]}', { a: [1] }],
    ['z:timestamptz:2026-01-31T09:00:00+09:00', new Date('2026-01-31T00:00:00Z')],
    [`z:uuid:${id(7)}`, id(7)],
  ])('%s sets its default in existing rows', async (spec, value) => {
    const t = await tableWithRows();
    const files = () => relationFile(t);
    const before = await files();
    expect((await t.call('POST', '/a/columns', spec)).status).toBe(201);
    expect(await t.values('z')).toEqual([value, value]);
    // A rewrite would block readers.
    expect(await files()).toBe(before);
    const { rows } =
      await sql`select from pg_attrdef where adrelid = ${qualifiedTableName(t.app, t.table)}::regclass`.execute(
        database.db,
      );
    expect(rows).toEqual([]);
  });

  test('with gen_random_uuid() gives each row its own value, with now() all rows the same', async () => {
    const t = await tableWithRows();
    await t.call('POST', '/a/columns', 'u:uuid:gen_random_uuid()');
    await t.call('POST', '/a/columns', 'at:timestamptz:now()');
    expect(new Set(await t.values('u')).size).toBe(2);
    expect(new Set((await t.values('at')).map(String)).size).toBe(1);
  });

  test('without null and default is refused when the table has rows', async () => {
    const t = await tableWithRows();
    const refused = await t.call('POST', '/a/columns', 'z:int');
    expect([refused.status, refused.body.code]).toEqual([409, 'not_null_violation']);
    expect((await t.call('GET', '/a')).body).toMatchObject({ version: 1, columns: { length: 5 } });
    await t.call('POST', '', { name: 'empty' });
    expect((await t.call('POST', '/empty/columns', 'z:int')).status).toBe(201);
  });

  test.each([['x:text'], ['id:uuid'], ['created_at:timestamptz']])(
    '%s is refused as an existing name',
    async (spec) => {
      const t = await tableWithRows();
      const { status, body } = await t.call('POST', '/a/columns', spec);
      expect([status, body.code]).toEqual([409, 'unique_violation']);
    },
  );

  test.each([
    [{ name: 'z', type: 'int', default: 'x' }, 'default'],
    [{ name: 'select', type: 'int' }, 'name'],
    ['z:int:1;2', 'default'],
  ])('%p is refused', async (body, field) => {
    const t = await tableWithRows();
    const answer = await t.call('POST', '/a/columns', body);
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
  });

  test('under the name of a dropped column inherits nothing', async () => {
    const t = await tableWithRows();
    const before = (await t.catalogue('a'))?.columns.find(({ name }) => name === 'y')?.physical;
    expect((await t.call('DELETE', '/a/columns/y')).status).toBe(204);
    expect((await t.call('DELETE', '/a/columns/y')).status).toBe(404);
    await t.call('POST', '/a/columns', 'y:int:nullable');
    expect(await t.values('y')).toEqual([null, null]);
    const after = (await t.catalogue('a'))?.columns.find(({ name }) => name === 'y')?.physical;
    expect(after).not.toBe(before);
  });
});

async function relationFile(t: Pick<TestTables, 'app'> & { table: { id: string } }): Promise<unknown> {
  const { rows } = await sql<{ file: unknown }>`
    select pg_relation_filenode(${qualifiedTableName(t.app, t.table)}::regclass) as file`.execute(
    database.db,
  );
  return rows[0]?.file;
}

describe('updating a column', () => {
  test('to not null is refused while a row has no value', async () => {
    const t = await tableWithRows();
    const refused = await t.call('PATCH', '/a/columns/y', { nullable: false });
    expect([refused.status, refused.body.code]).toEqual([409, 'not_null_violation']);
    expect((await t.call('PATCH', '/a/columns/x', { nullable: true })).body.columns[1].nullable).toBe(true);
    const both = await t.call('PATCH', '/a/columns/x', { nullable: false, name: 'z', default: '3' });
    const z = { name: 'z', type: 'int', nullable: false, default: '3', generated: false };
    expect(both.body.columns[1]).toEqual(z);
    const times = { 4: new Date(0), 5: new Date(0) };
    expect(insertRow(database, t, t.table, { 1: id(3), ...times })).rejects.toThrow(/null value/);
  });

  test('changes or removes the default of new rows only', async () => {
    const t = await tableWithRows();
    expect((await t.call('PATCH', '/a/columns/y', { default: 'now()' })).body.columns[2].default).toBe(
      'now()',
    );
    expect(await t.values('y')).toEqual(['one', null]);
    expect((await t.call('PATCH', '/a/columns/y', { default: null })).body.columns[2].default).toBeNull();
    expect((await t.call('PATCH', '/a/columns/x', { default: 'y' })).status).toBe(400);
    const { body } = await t.call('PATCH', '/a/columns/x', { default: 5 });
    const again = await t.call('PATCH', '/a/columns/x', { default: '5' });
    expect([body.columns[1].default, again.body.version]).toEqual(['5', body.version]);
  });

  test('to another name keeps values and role', async () => {
    const t = await newTestTables(database);
    await t.table('a', ['keeper:uuid:nullable'], { owner_column: 'keeper' });
    expect((await t.call('PATCH', '/a/columns/keeper', { name: 'owner' })).body.owner_column).toBe('owner');
    await t.call('PATCH', '/a/columns/created_at', { name: 'born' });
    const table = await t.catalogue('a');
    expect(table?.owner?.name).toBe('owner');
    expect(table?.columns.find(({ name }) => name === 'born')?.role).toBe('created_at');
    expect((await t.call('PATCH', '/a/columns/owner', { name: 'born' })).body.code).toBe('unique_violation');
    expect((await t.call('PATCH', '/a/columns/owner', { name: 'sort' })).status).toBe(400);
    expect((await t.call('PATCH', '/a/columns/keeper', { name: 'x' })).status).toBe(404);
  });

  test.each<[string, object]>([
    ['id', { name: 'key' }],
    ['id', { nullable: true }],
    ['id', { default: '00000000-0000-7000-8000-000000000001' }],
    ['created_at', { nullable: true }],
    ['updated_at', { default: 'now()' }],
  ])('of the service is refused: %s to %p', async (column, set) => {
    const t = await tableWithRows();
    const { status, body } = await t.call('PATCH', `/a/columns/${column}`, set);
    expect([status, body.code]).toEqual([409, 'immutable_field']);
  });

  test('an id of type uuid may become random and generated again', async () => {
    const t = await tableWithRows();
    const kind = async () => (await t.catalogue('a'))?.idColumn.default?.kind;
    await t.call('PATCH', '/a/columns/id', { default: 'gen_random_uuid()' });
    expect(await kind()).toBe('random_uuid');
    await t.call('PATCH', '/a/columns/id', { default: null });
    expect(await kind()).toBe('uuid_v7');
  });
});

describe('dropping a column', () => {
  test('drops its indexes, which the plan lists', async () => {
    const t = await tableWithRows();
    await t.call('POST', '/a/indexes', { columns: ['y', 'x'] });
    await t.call('POST', '/a/indexes', { columns: ['x'], unique: true });
    const { plan } = (await t.call('DELETE', '/a/columns/y?dry_run=true')).body;
    expect(plan).toMatchObject({
      irreversible: true,
      changes: [
        { path: 'column', before: 'y:text:nullable', after: null },
        { path: 'indexes', before: ['y_x_idx: (y, x)'], after: null },
      ],
    });
    expect((await t.call('DELETE', '/a/columns/y')).status).toBe(204);
    const left = (await t.call('GET', '/a/indexes')).body.items;
    expect(left.map(({ name }: { name: string }) => name)).toEqual(['x_key']);
    const { indexes } = await physicalState(database, t.app);
    expect(indexes.filter((name) => name.startsWith('i_'))).toEqual([physicalIndexName(left[0].id)]);
  });

  test('is refused for the id, service columns and the owner column', async () => {
    const t = await newTestTables(database);
    await t.table('a', ['keeper:uuid', 'created_at:text'], { owner_column: 'keeper' });
    for (const column of ['id', 'updated_at', 'keeper']) {
      const { status, body } = await t.call('DELETE', `/a/columns/${column}`);
      expect([column, status, body.code]).toEqual([column, 409, 'column_in_use']);
    }
    expect((await t.call('DELETE', '/a/columns/created_at')).status).toBe(204);
  });
});

test('a table near PostgreSQL’s column limit is rebuilt', async () => {
  const t = await tableWithRows();
  await t.call('POST', '/a/indexes', { columns: ['y'] });
  await t.call('POST', '/a/indexes', { columns: ['x'], unique: true });
  const target = qualifiedTableName(t.app, t.table);
  const spare = Array.from({ length: attributesMax - 5 }, (_, at) => `c${at + 6}`);
  await withClient(database.url, async (client) => {
    await client.query(`alter table ${target} ${spare.map((name) => `add column ${name} int`).join(', ')}`);
    await client.query(`alter table ${target} ${spare.map((name) => `drop column ${name}`).join(', ')}`);
  });
  await sql`update svc.app_tables set columns_made = ${attributesMax}, attributes_made = ${attributesMax}
    where id = ${t.table.id}`.execute(database.db);
  const before = await physicalState(database, t.app);
  expect(before.columns[physicalTableName(t.table.id)]).toBe(attributesMax + 1);

  expect((await t.call('POST', '/a/columns?dry_run=true', 'z:int:7')).status).toBe(200);
  expect(await physicalState(database, t.app)).toEqual(before);
  const { status, body } = await t.call('POST', '/a/columns', 'z:int:7');
  expect([status, body.columns.map(({ name }: { name: string }) => name)]).toEqual([
    201,
    ['id', 'x', 'y', 'created_at', 'updated_at', 'z'],
  ]);
  expect([await t.values('x'), await t.values('y'), await t.values('z')]).toEqual([
    [10, 20],
    ['one', null],
    [7, 7],
  ]);
  expect(await physicalState(database, t.app)).toEqual({
    columns: { [physicalTableName(t.table.id)]: 7 },
    indexes: before.indexes,
  });
  // Numbers are never reused: a cached catalogue must not read another column.
  expect((await t.catalogue('a'))?.columns.at(-1)?.physical).toBe(physicalColumnName(attributesMax + 1));
  await withClient(database.rowsUrl, async (client) => {
    expect((await client.query(`select count(*)::int as n from ${target}`)).rows).toEqual([{ n: 2 }]);
    const again = client.query(`insert into ${target} select * from ${target} limit 1`);
    await expect(again).rejects.toThrow(/duplicate key/);
  });
  expect((await t.call('DELETE', '/a/columns/y')).status).toBe(204);
  expect((await t.call('DELETE', '/a/indexes/x_key')).status).toBe(204);
});
