import { describe, expect, test } from 'bun:test';
import { columnsPerTableMax, tablesPerAppMax } from '@svc/contract/columns.ts';
import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
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
    const items = [{ ...body, grants: 0 }];
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
    const place = qualifiedTableName(t.app, table);
    const sequence = `"${physicalSchemaName(t.app.id)}"."${physicalTableName(table.id).replace('t_', 's_')}"`;
    await withClient(database.rowsUrl, async (client) => {
      await client.query(
        `insert into ${place} values (nextval('${sequence}'), 'a', null, 1, now(), now(), 1)`,
      );
      expect((await client.query(`select c1 from ${place}`)).rows).toEqual([{ c1: '1' }]);
      for (const forbidden of ['drop table', 'truncate']) {
        await expect(client.query(`${forbidden} ${place}`)).rejects.toThrow(
          /must be owner|permission denied/,
        );
      }
    });
  });

  test('an id may have one of four types, which decides who generates it', async () => {
    const t = await newTestTables(database);
    const made = async (id: string) => {
      await t.table('ids', [id]);
      const { columns } = (await t.call('GET', '/ids')).body;
      const kind = (await t.catalogue('ids'))?.idColumn.default?.kind ?? null;
      await t.call('DELETE', '/ids');
      return [columns[0].type, columns[0].generated, columns[0].default, kind];
    };
    expect(await made('id:uuid')).toEqual(['uuid', true, null, 'uuid_v7']);
    expect(await made('id:uuid:gen_random_uuid()')).toEqual([
      'uuid',
      false,
      'gen_random_uuid()',
      'random_uuid',
    ]);
    expect(await made('id:bigint')).toEqual(['bigint', true, null, 'sequence']);
    expect(await made('id:int')).toEqual(['int', true, null, 'sequence']);
    expect(await made('id:text')).toEqual(['text', false, null, null]);
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
    const made = await t.call('POST', '', of('9007199254740993'));
    expect([made.status, made.body.columns[1].default]).toEqual([201, '9007199254740993']);
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
        created_at, updated_at)
      select gen_random_uuid(), ${t.tenant.id}, ${t.app.id}, 'x' || n, 0, 0, ${t.owner.userId}, now(), now()
      from generate_series(2, ${tablesPerAppMax}) n`.execute(database.db);
    const { status, body } = await t.call('POST', '', { name: 'one_more' });
    expect([status, body.code]).toEqual([409, 'limit_reached']);
  });
});

describe('table names', () => {
  test('are unique per app, also for parallel requests', async () => {
    const t = await newTestTables(database);
    const both = await Promise.all([t.call('POST', '', { name: 'a' }), t.call('POST', '', { name: 'a' })]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(both.find(({ status }) => status === 409)?.body.code).toBe('unique_violation');
    const other = await newApp(database.db, t.tenant, t.owner);
    expect((await t.as(t.owner, other)('POST', '', { name: 'a' })).status).toBe(201);
  });

  test('ten parallel creations in a new app succeed', async () => {
    const t = await newTestTables(database);
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, at) => t.call('POST', '', { name: `t${at}` })),
    );
    expect(made.map(({ status }) => status)).toEqual(Array(10).fill(201));
  });

  test('a table of another app is not found by name or id', async () => {
    const t = await newTestTables(database);
    const { id } = await t.table('a');
    const elsewhere = t.as(t.owner, await newApp(database.db, t.tenant, t.owner));
    for (const path of ['/a', `/${id}`, `/${id}/grants`, `/${id}/indexes`])
      expect((await elsewhere('GET', path)).status).toBe(404);
    for (const path of [`/${id}`, `/${id}/columns/id`])
      expect((await elsewhere('DELETE', path)).status).toBe(404);
    expect((await elsewhere('PATCH', `/${id}`, { description: 'mine' })).status).toBe(404);
    expect((await t.call('GET', '/nothing')).status).toBe(404);
  });

  test('a rename changes the catalogue only and does not wait for a table lock', async () => {
    const t = await newTestTables(database);
    const table = await t.table('a', ['x:int']);
    await t.table('b');
    const before = await physicalState(database, t.app);
    await withClient(database.url, async (client) => {
      await client.query(`begin; lock table ${qualifiedTableName(t.app, table)} in access exclusive mode`);
      const renamed = await t.call('PATCH', '/a', { name: 'c', description: 'new' });
      expect([renamed.status, renamed.body.name, renamed.body.version]).toEqual([200, 'c', 2]);
      const column = await t.call('PATCH', '/c/columns/x', { name: 'y', default: '4' });
      expect([column.status, column.body.columns[1]]).toMatchObject([200, { name: 'y', default: '4' }]);
      await client.query('rollback');
    });
    expect(await physicalState(database, t.app)).toEqual(before);
    expect((await t.call('GET', '/a')).status).toBe(404);
    expect((await t.call('PATCH', '/c', { name: 'b' })).body.code).toBe('unique_violation');
    const same = await t.call('PATCH', '/c', { name: 'c', description: 'new' });
    expect([same.status, same.body.version]).toEqual([200, 3]);
  });

  test('the preview of a drop lists lost rows, indexes and grants', async () => {
    const t = await newTestTables(database);
    const table = await t.table('lost', ['a:int']);
    await t.call('POST', '/lost/indexes', { columns: ['a'] });
    const grant = { principal_type: 'role', principal_id: 'tenant_member', actions: ['read'] };
    await t.call('POST', '/lost/grants', grant);
    const lost = async () => {
      const { body } = await t.call('DELETE', '/lost?dry_run=true');
      return Object.fromEntries(
        body.plan.changes.map(({ path, before }: { path: string; before: unknown }) => [path, before]),
      );
    };
    expect(await lost()).toMatchObject({
      rows: 0,
      indexes: ['a_idx: (a)'],
      grants: ['role tenant_member: read'],
    });
    const place = qualifiedTableName(t.app, table);
    const fill = (count: number) =>
      withClient(database.url, (client) =>
        client.query(
          `insert into ${place} select gen_random_uuid(), n, now(), now(), 1 from generate_series(1, ${count}) n`,
        ),
      );
    await fill(10_000);
    expect((await lost()).rows).toBe(10_000);
    await fill(1);
    expect((await lost()).rows).toBe('at least 10000');
    expect((await t.call('DELETE', '/lost')).status).toBe(204);
  });

  test('a table created under the name of a dropped one inherits nothing', async () => {
    const t = await newTestTables(database);
    const old = await t.table('a', ['x:int']);
    await t.call('POST', '/a/grants', {
      principal_type: 'role',
      principal_id: 'tenant_member',
      actions: ['read'],
    });
    const first = await t.catalogue('a');
    expect((await t.call('DELETE', '/a')).status).toBe(204);
    expect((await t.call('DELETE', '/a')).status).toBe(404);
    expect((await physicalState(database, t.app)).columns).toEqual({});
    const again = await t.table('a', ['x:text']);
    const second = await t.catalogue('a');
    expect([again.id === old.id, first?.table === second?.table]).toEqual([false, false]);
    expect((await t.call('GET', '/a/grants')).body.total).toBe(0);
  });
});

describe('catalogue and physical tables', () => {
  test('a failed creation leaves no catalogue entry', async () => {
    const t = await newTestTables(database);
    const schema = `"${physicalSchemaName(t.app.id)}"`;
    await withClient(database.url, (client) =>
      client.query(`create schema ${schema}; revoke create on schema ${schema} from current_user`),
    );
    await expect(t.call('POST', '', { name: 'a' })).rejects.toThrow(/permission denied/);
    expect((await t.call('GET', '')).body.total).toBe(0);
  });

  test('a preview changes neither', async () => {
    const t = await newTestTables(database);
    await t.table('a', ['x:int', 'y:text:nullable']);
    await t.call('POST', '/a/indexes', { columns: ['x'], name: 'by_x' });
    const grant = { principal_type: 'role', principal_id: 'tenant_member', actions: ['read'] };
    const { id } = (await t.call('POST', '/a/grants', grant)).body;
    const state = async () => [
      await physicalState(database, t.app),
      (await t.call('GET', '')).body,
      (await t.call('GET', '/a/indexes')).body,
      (await t.call('GET', '/a/grants')).body,
    ];
    const before = await state();
    const previews: [string, string, unknown?][] = [
      ['POST', '', { name: 'b', columns: ['z:int'] }],
      ['PATCH', '/a', { name: 'c' }],
      ['DELETE', '/a'],
      ['POST', '/a/columns', 'z:int:5'],
      ['PATCH', '/a/columns/y', { nullable: false }],
      ['DELETE', '/a/columns/x'],
      ['POST', '/a/indexes', { columns: ['y'] }],
      ['DELETE', '/a/indexes/by_x'],
      ['POST', '/a/grants', { ...grant, principal_id: 'tenant_admin' }],
      ['DELETE', `/a/grants/${id}`],
    ];
    for (const [method, path, body] of previews) {
      const answer = await t.call(method, `${path}?dry_run=true`, body);
      expect([path, answer.status, answer.body.plan.changes.length > 0]).toEqual([path, 200, true]);
    }
    expect(await state()).toEqual(before);
  });

  test('a plan shows column specs, and equal changes have equal fingerprints', async () => {
    const t = await newTestTables(database);
    const body = { name: 'a', columns: ['x:int:nullable:5'] };
    const plan = async () => (await t.call('POST', '?dry_run=true', body)).body.plan;
    const first = await plan();
    expect(first.changes.find(({ path }: { path: string }) => path === 'columns').after).toEqual([
      'id:uuid',
      'x:int:nullable:5',
      'created_at:timestamptz',
      'updated_at:timestamptz',
    ]);
    expect((await plan()).fingerprint).toBe(first.fingerprint);
  });

  test('an archived app’s tables cannot change, except that grants can be revoked', async () => {
    const t = await newTestTables(database);
    await t.table('a', ['x:int:nullable']);
    const grant = { principal_type: 'role', principal_id: 'tenant_member', actions: ['read'] };
    const { id } = (await t.call('POST', '/a/grants', grant)).body;
    await sql`update svc.apps set record = 'archived' where id = ${t.app.id}`.execute(database.db);
    const refused: [string, string, unknown?][] = [
      ['POST', '', { name: 'b' }],
      ['PATCH', '/a', { name: 'c' }],
      ['DELETE', '/a'],
      ['POST', '/a/columns', 'z:int:5'],
      ['PATCH', '/a/columns/x', { nullable: false }],
      ['DELETE', '/a/columns/x'],
      ['POST', '/a/indexes', { columns: ['x'] }],
      ['DELETE', '/a/indexes/nothing'],
      ['POST', '/a/grants', { ...grant, principal_id: 'tenant_admin' }],
    ];
    for (const [method, path, body] of refused) {
      const answer = await t.call(method, path, body);
      expect([path, answer.status, answer.body.code]).toEqual([path, 409, 'app_not_active']);
    }
    expect((await t.call('GET', '/a')).status).toBe(200);
    expect((await t.call('DELETE', `/a/grants/${id}`)).status).toBe(204);
  });
});
