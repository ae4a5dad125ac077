import { describe, expect, test } from 'bun:test';
import { columnsPerTableMax, tablesPerAppMax } from '@svc/contract/columns.ts';
import { sql } from 'kysely';
import { withClient } from '../../drivers/database/connect.ts';
import { useTestDatabase } from '../../testing.ts';
import { physicalSchemaName, physicalTableName } from './catalogue.ts';
import { newTestTables, physicalState, qualifiedTableName } from './testing.ts';

const database = useTestDatabase();

describe('a new table', () => {
  test('has the declared columns between an id and two times', async () => {
    const t = await newTestTables(database);
    const { status, body } = await t.call('POST', '', {
      name: 'people',
      columns: ['name:text', 'age:int:nullable:5', { name: 'keeper', type: 'uuid', nullable: true }],
      owner_column: 'keeper',
      description: 'Who is who',
    });
    const column = { nullable: false, default: null, generated: false };
    expect([status, body]).toEqual([
      201,
      {
        id: expect.any(String),
        app_id: t.app.id,
        name: 'people',
        description: 'Who is who',
        owner_column: 'keeper',
        changes: false,
        history: null,
        soft_delete: null,
        columns: [
          { ...column, name: 'id', type: 'uuid', generated: true },
          { ...column, name: 'name', type: 'text' },
          { ...column, name: 'age', type: 'int', nullable: true, default: '5' },
          { ...column, name: 'keeper', type: 'uuid', nullable: true },
          { ...column, name: 'created_at', type: 'timestamptz', generated: true },
          { ...column, name: 'updated_at', type: 'timestamptz', generated: true },
        ],
        version: 1,
        created_by: t.owner.userId,
        created_at: expect.any(String),
        updated_at: body.created_at,
      },
    ]);
    for (const ref of ['people', body.id, body.id.toUpperCase()]) {
      expect((await t.call('GET', `/${ref}`)).body).toEqual(body);
    }
    const items = [{ ...body, grants: 0, access: 'own', open_to_changes: false }];
    expect((await t.call('GET', '')).body).toEqual({ items, page: 1, per_page: 50, total: 1 });
  });

  test('may have a column of type date, with a day as its default', async () => {
    const t = await newTestTables(database);
    const { status, body } = await t.call('POST', '', { name: 'people', columns: ['born:date:2000-02-29'] });
    expect([status, body.columns[1]]).toMatchObject([201, { type: 'date', default: '2000-02-29' }]);
    for (const spec of ['d:date:today', 'd:date:2023-02-29', 'd:date:2024-2-3', 'd:date:now()']) {
      const refused = await t.call('POST', '/people/columns', spec);
      expect([spec, refused.status, refused.body.code]).toEqual([spec, 400, 'validation_failed']);
    }
  });

  test('is in the app’s own schema, where the row role may read and write but not change the schema', async () => {
    const t = await newTestTables(database);
    const table = await t.table('people', ['id:bigint', 'name:text', 'extra:jsonb:nullable', 'n:float']);
    const { rows } = await sql<{ name: string; type: string; required: boolean; collation: string }>`
      select attname as name, format_type(atttypid, atttypmod) as type, attnotnull as required, collname as collation
      from pg_attribute left join pg_collation c on c.oid = attcollation
      where attrelid = ${qualifiedTableName(t.app, table)}::regclass and attnum > 0 order by attnum`.execute(
      database.db,
    );
    expect(rows.map((row) => [row.name, row.type, row.required, row.collation])).toEqual([
      ['c1', 'bigint', true, null],
      ['c2', 'text', true, 'C'],
      ['c3', 'jsonb', false, null],
      ['c4', 'double precision', true, null],
      ['c5', 'timestamp with time zone', true, null],
      ['c6', 'timestamp with time zone', true, null],
      ['v', 'bigint', true, null],
    ] as never);
    const physicalTable = qualifiedTableName(t.app, table);
    const sequence = `"${physicalSchemaName(t.app.id)}"."${physicalTableName(table.id).replace('t_', 's_')}"`;
    await withClient(database.rowsUrl, async (client) => {
      await client.query(
        `insert into ${physicalTable} values (nextval('${sequence}'), 'a', null, 1, now(), now(), 1)`,
      );
      expect((await client.query(`select c1 from ${physicalTable}`)).rows).toEqual([{ c1: '1' }]);
      for (const forbidden of ['drop table', 'truncate']) {
        await expect(client.query(`${forbidden} ${physicalTable}`)).rejects.toThrow(
          /must be owner|permission denied/,
        );
      }
    });
  });

  test('an id may have one of four types, which decides who generates it', async () => {
    const t = await newTestTables(database);
    const created = async (id: string) => {
      await t.table('ids', [id]);
      const { columns } = (await t.call('GET', '/ids')).body;
      const kind = (await t.catalogue('ids'))?.idColumn.default?.kind ?? null;
      await t.call('DELETE', '/ids');
      return [columns[0].type, columns[0].generated, columns[0].default, kind];
    };
    expect(await created('id:uuid')).toEqual(['uuid', true, null, 'uuid_v7']);
    expect(await created('id:uuid:gen_random_uuid()')).toEqual([
      'uuid',
      false,
      'gen_random_uuid()',
      'random_uuid',
    ]);
    expect(await created('id:bigint')).toEqual(['bigint', true, null, 'sequence']);
    expect(await created('id:int')).toEqual(['int', true, null, 'sequence']);
    expect(await created('id:text')).toEqual(['text', false, null, null]);
  });

  test('declared created_at and updated_at are ordinary columns', async () => {
    const t = await newTestTables(database);
    await t.table('events', ['created_at:text', 'updated_at:timestamptz:nullable']);
    const { columns } = (await t.call('GET', '/events')).body;
    expect(columns.map((it: { name: string; generated: boolean }) => [it.name, it.generated])).toEqual([
      ['id', true],
      ['created_at', false],
      ['updated_at', false],
    ]);
    expect((await t.catalogue('events'))?.columns.map(({ role }) => role)).toEqual(['id', 'plain', 'plain']);
  });

  test('accepts column names that are SQL keywords or system columns', async () => {
    const t = await newTestTables(database);
    const odd = 'orange organism android nothing constructor tostring xmin ctid tableoid v c1 table user null'
      .split(' ')
      .concat('x'.repeat(63));
    await t.table(
      'order',
      odd.map((name) => `${name}:text`),
    );
    const { columns } = (await t.call('GET', '/order')).body;
    expect(columns.slice(1, -2).map(({ name }: { name: string }) => name)).toEqual(odd);
  });

  test.each([
    'select filter sort page per_page cursor count or and not dry_run on_conflict'.split(' '),
    ['_x', '__proto__', '1a', 'Name', 'a b', 'a.b', 'a,b', 'a"b', 'a->b', 'ä', '😀', '', 'x'.repeat(64)],
  ])('refuses column names that are reserved or malformed: %s …', async (...names) => {
    const t = await newTestTables(database);
    for (const name of names) {
      const { status, body } = await t.call('POST', '', { name: 'a', columns: [{ name, type: 'text' }] });
      expect([name, status, body.errors[0].field]).toEqual([name, 400, 'columns.0.name']);
      expect((await t.call('POST', '', { name: 'a', columns: [`${name}:text`] })).status).toBe(400);
    }
    expect((await t.call('GET', '')).body.total).toBe(0);
  });

  test.each(['_count', 'select', 'count', 'not', 'a-b', 'A', '', 'a b', `x"; drop table y`, 'x'.repeat(64)])(
    'refuses the table name %p',
    async (name) => {
      const t = await newTestTables(database);
      const { status, body } = await t.call('POST', '', { name });
      expect([status, body.errors[0].field]).toEqual([400, 'name']);
    },
  );

  test.each<[string, unknown[], string]>([
    ['a name twice', ['a:text', 'b:int', 'a:int'], 'columns.2.name'],
    ['the id twice', ['id:int', 'id:text'], 'columns.1.name'],
    ['an id that may be null', ['id:uuid:nullable'], 'columns.0.nullable'],
    ['an id of a type that is none', ['id:jsonb'], 'columns.0.type'],
    ['an id with a literal default', ['id:int:1'], 'columns.0.default'],
    ['a default of another type', ['a:text', 'b:int:x'], 'columns.1.default'],
    ['a default that is SQL', ['b:int:1+1'], 'columns.0.default'],
    ['now() for a uuid', ['b:uuid:now()'], 'columns.0.default'],
    [
      'a default of too many bytes',
      [{ name: 'b', type: 'text', default: 'ä'.repeat(4097) }],
      'columns.0.default',
    ],
    ['a number that JSON rounds', [{ name: 'b', type: 'bigint', default: 2 ** 53 }], 'columns.0.default'],
    ['a number for a text', [{ name: 'b', type: 'text', default: 1.1 }], 'columns.0.default'],
    ['a boolean for a jsonb', [{ name: 'b', type: 'jsonb', default: true }], 'columns.0.default'],
    ['an unknown type', [{ name: 'a', type: 'varchar' }], 'columns.0.type'],
    ['an unknown type in a spec', ['a:varchar'], 'columns.0'],
    ['an unknown key', [{ name: 'a', type: 'text', primary: true }], 'columns.0.primary'],
    ['no type', ['a'], 'columns.0'],
  ])('refuses %s', async (_, columns, field) => {
    const t = await newTestTables(database);
    const { status, body } = await t.call('POST', '', { name: 'a', columns });
    expect([status, body.code, body.errors[0].field]).toEqual([400, 'validation_failed', field]);
  });

  test('names the reserved word in the error, for both ways to declare a column', async () => {
    const t = await newTestTables(database);
    for (const column of ['select:text', { name: 'select', type: 'text' }]) {
      const { body } = await t.call('POST', '', { name: 'a', columns: ['x:int', column] });
      expect(body.errors).toMatchObject([{ detail: expect.stringContaining('`select` is reserved') }]);
    }
  });

  test('refuses a default number beyond 2^53−1, and keeps every digit of a text', async () => {
    const t = await newTestTables(database);
    const of = (value: unknown) => ({ name: 'n', columns: [{ name: 'b', type: 'bigint', default: value }] });
    const refused = await t.call('POST', '', of(Number('9007199254740993')));
    expect([refused.status, refused.body.errors[0].detail]).toMatchObject([
      400,
      expect.stringContaining('as a string'),
    ]);
    const created = await t.call('POST', '', of('9007199254740993'));
    expect([created.status, created.body.columns[1].default]).toEqual([201, '9007199254740993']);
    for (const value of [2 ** 53, -(2 ** 53), 1e300]) {
      const { status, body } = await t.call('PATCH', '/n/columns/b', { default: value });
      expect([value, status, body.errors?.[0].field]).toEqual([value, 400, 'default']);
    }
    const most = await t.call('PATCH', '/n/columns/b', { default: Number.MAX_SAFE_INTEGER });
    expect(most.body.columns[1].default).toBe('9007199254740991');
    await t.call('POST', '/n/columns', { name: 't', type: 'text', nullable: true });
    expect((await t.call('PATCH', '/n/columns/t', { default: 1.5 })).status).toBe(400);
    expect((await t.call('PATCH', '/n/columns/t', { default: '1.50' })).status).toBe(200);
  });

  test('normalizes defaults of every type; the default of a text is always a literal', async () => {
    const t = await newTestTables(database);
    const specs = [
      'a:int:-0',
      'b:float:1e3',
      'c:bool:false',
      'd:timestamptz:now()',
      'e:uuid:gen_random_uuid()',
    ];
    specs.push(
      'f:text:now()',
      'g:text:nullable:nullable',
      'h:text:',
      `i:text:it's :: "so"`,
      'j:jsonb:{"k":[1]}',
    );
    await t.table('d', [...specs, { name: 'k', type: 'text', default: 'nullable' }]);
    await t.call('POST', '/d/columns', { name: 'l', type: 'int', default: 7 });
    const { columns } = (await t.call('GET', '/d')).body;
    const defaults = columns.flatMap((it: { generated: boolean; default: string }) =>
      it.generated ? [] : [it.default],
    );
    expect(defaults.slice(0, 5)).toEqual(['0', '1000', 'false', 'now()', 'gen_random_uuid()']);
    expect(defaults.slice(5)).toEqual([
      'now()',
      'nullable',
      '',
      `it's :: "so"`,
      '{"k":[1]}',
      'nullable',
      '7',
    ]);
    const kinds = (await t.catalogue('d'))?.columns.flatMap((it) => it.default?.kind ?? []);
    expect(kinds?.filter((kind) => kind !== 'literal')).toEqual(['uuid_v7', 'now', 'random_uuid']);
  });

  test.each<[string, string | null]>([
    ['keeper', null],
    ['label', null],
    ['missing', 'owner_column'],
    ['age', 'owner_column'],
    ['id', 'owner_column'],
    ['created_at', 'owner_column'],
  ])('with %p as its owner column', async (owner_column, field) => {
    const t = await newTestTables(database);
    const columns = ['keeper:uuid', 'label:text', 'age:int'];
    const { status, body } = await t.call('POST', '', { name: 'a', columns, owner_column });
    expect([status, body.errors?.[0].field ?? null]).toEqual(field === null ? [201, null] : [400, field]);
  });

  test('has a description of at most 1000 bytes', async () => {
    const t = await newTestTables(database);
    expect((await t.call('POST', '', { name: 'a', description: 'ä'.repeat(500) })).status).toBe(201);
    const { status, body } = await t.call('POST', '', { name: 'b', description: `${'ä'.repeat(500)}.` });
    expect([status, body.errors[0].field]).toEqual([400, 'description']);
  });

  test('may have 1000 columns and no more', async () => {
    const t = await newTestTables(database);
    const columns = Array.from({ length: columnsPerTableMax }, (_, at) => `n${at}:text:nullable`);
    const table = await t.table('wide', columns);
    expect((await t.call('GET', '/wide')).body.columns).toHaveLength(columnsPerTableMax + 3);
    expect((await physicalState(database, t.app)).columns[physicalTableName(table.id)]).toBe(
      columnsPerTableMax + 4,
    );
    const added = await t.call('POST', '/wide/columns', 'more:text');
    expect([added.status, added.body.code]).toEqual([409, 'limit_reached']);
    expect((await t.call('POST', '', { name: 'wider', columns: [...columns, 'more:text'] })).status).toBe(
      400,
    );
  });

  test('is refused when the app has 200 tables', async () => {
    const t = await newTestTables(database);
    await t.table('first');
    await sql`insert into svc.app_tables (id, tenant_id, app_id, name, columns_made, attributes_made, created_by,
        created_at, updated_at, rules)
      select gen_random_uuid(), ${t.tenant.id}, ${t.app.id}, 'x' || n, 0, 0, ${t.owner.userId}, now(), now(), '{}'
      from generate_series(2, ${tablesPerAppMax}) n`.execute(database.db);
    const { status, body } = await t.call('POST', '', { name: 'one_more' });
    expect([status, body.code]).toEqual([409, 'limit_reached']);
  });
});
