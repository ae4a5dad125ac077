import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { columnsPerTableMax, tablesPerAppMax } from '@svc/contract/columns.ts';
import { sql } from 'kysely';
import { newApp } from '../apps/testing.ts';
import { withClient } from '../drivers/database/connect.ts';
import { type TestDatabase, testDatabase } from '../testing.ts';
import { schemaOf, tableOf } from './catalogue.ts';
import { loadCatalogue } from './load-catalogue.ts';
import { physicalName, physicalState, type TableWorld, tableWorld } from './testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const catalogue = (t: TableWorld, name: string) =>
  loadCatalogue(database.db, { tenantId: t.tenant.id, appId: t.app.id, name });

describe('a new table', () => {
  test('has the declared columns between an id and two times', async () => {
    const t = await tableWorld(database);
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

  test('is a table of the app’s own schema, which the role that serves rows may use and not shape', async () => {
    const t = await tableWorld(database);
    const table = await t.table('people', ['id:bigint', 'name:text', 'extra:jsonb:nullable', 'n:float']);
    const { rows } = await sql<{ name: string; type: string; required: boolean; collation: string }>`
      select attname as name, format_type(atttypid, atttypmod) as type, attnotnull as required, collname as collation
      from pg_attribute left join pg_collation c on c.oid = attcollation
      where attrelid = ${physicalName(t.app, table)}::regclass and attnum > 0 order by attnum`.execute(
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
    const place = physicalName(t.app, table);
    const sequence = `"${schemaOf(t.app.id)}"."${tableOf(table.id).replace('t_', 's_')}"`;
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

  test('an id may be declared as one of four types, and tells who makes it', async () => {
    const t = await tableWorld(database);
    const made = async (id: string) => {
      await t.table('ids', [id]);
      const { columns } = (await t.call('GET', '/ids')).body;
      const kind = (await catalogue(t, 'ids'))?.idColumn.default?.kind ?? null;
      await t.call('DELETE', '/ids');
      return [columns[0].type, columns[0].generated, columns[0].default, kind];
    };
    expect(await made('id:uuid')).toEqual(['uuid', true, null, 'uuid_v7']);
    expect(await made('id:uuid:gen_random_uuid()')).toEqual([
      ...['uuid', false, 'gen_random_uuid()', 'random_uuid'],
    ]);
    expect(await made('id:bigint')).toEqual(['bigint', true, null, 'sequence']);
    expect(await made('id:int')).toEqual(['int', true, null, 'sequence']);
    expect(await made('id:text')).toEqual(['text', false, null, null]);
  });

  test('declared times are plain columns', async () => {
    const t = await tableWorld(database);
    await t.table('events', ['created_at:text', 'updated_at:timestamptz:nullable']);
    const { columns } = (await t.call('GET', '/events')).body;
    expect(columns.map((it: { name: string; generated: boolean }) => [it.name, it.generated])).toEqual([
      ['id', true],
      ['created_at', false],
      ['updated_at', false],
    ]);
    expect((await catalogue(t, 'events'))?.columns.map(({ role }) => role)).toEqual(['id', 'plain', 'plain']);
  });

  test('takes names that would be odd elsewhere', async () => {
    const t = await tableWorld(database);
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
    const t = await tableWorld(database);
    for (const name of names) {
      const { status, body } = await t.call('POST', '', { name: 'a', columns: [{ name, type: 'text' }] });
      expect([name, status, body.code, body.errors[0].field]).toEqual([
        ...[name, 400, 'validation_failed', 'columns.0.name'],
      ]);
      expect((await t.call('POST', '', { name: 'a', columns: [`${name}:text`] })).status).toBe(400);
    }
    expect((await t.call('GET', '')).body.total).toBe(0);
  });

  test.each(['_count', 'select', 'count', 'not', 'a-b', 'A', '', 'a b', `x"; drop table y`, 'x'.repeat(64)])(
    'refuses the table name %p',
    async (name) => {
      const t = await tableWorld(database);
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
    const t = await tableWorld(database);
    const { status, body } = await t.call('POST', '', { name: 'a', columns });
    expect([status, body.code, body.errors[0].field]).toEqual([400, 'validation_failed', field]);
  });

  test('says of a reserved name which it is, in both ways to declare a column', async () => {
    const t = await tableWorld(database);
    for (const column of ['select:text', { name: 'select', type: 'text' }]) {
      const { body } = await t.call('POST', '', { name: 'a', columns: ['x:int', column] });
      expect(body.errors).toMatchObject([{ detail: expect.stringContaining('`select` is reserved') }]);
    }
  });

  test('no digit of a default is lost: a number beyond 2^53−1 is refused, its text is kept', async () => {
    const t = await tableWorld(database);
    const of = (value: unknown) => ({ name: 'n', columns: [{ name: 'b', type: 'bigint', default: value }] });
    const refused = await t.call('POST', '', of(Number('9007199254740993')));
    expect([refused.status, refused.body.errors[0].detail]).toMatchObject([
      400,
      expect.stringContaining('as a text'),
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

  test('keeps defaults of every type as they are read back, and a text is always a literal', async () => {
    const t = await tableWorld(database);
    const specs = [
      ...['a:int:-0', 'b:float:1e3', 'c:bool:false', 'd:timestamptz:now()', 'e:uuid:gen_random_uuid()'],
      ...['f:text:now()', 'g:text:nullable:nullable', 'h:text:', `i:text:it's :: "so"`, 'j:jsonb:{"k":[1]}'],
    ];
    await t.table('d', [...specs, { name: 'k', type: 'text', default: 'nullable' }]);
    await t.call('POST', '/d/columns', { name: 'l', type: 'int', default: 7 });
    const { columns } = (await t.call('GET', '/d')).body;
    const defaults = columns.flatMap((it: { generated: boolean; default: string }) =>
      it.generated ? [] : [it.default],
    );
    expect(defaults).toEqual([
      ...['0', '1000', 'false', 'now()', 'gen_random_uuid()'],
      ...['now()', 'nullable', '', `it's :: "so"`, '{"k":[1]}', 'nullable', '7'],
    ]);
    const kinds = (await catalogue(t, 'd'))?.columns.flatMap((it) => it.default?.kind ?? []);
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
    const t = await tableWorld(database);
    const columns = ['keeper:uuid', 'label:text', 'age:int'];
    const { status, body } = await t.call('POST', '', { name: 'a', columns, owner_column });
    expect([status, body.errors?.[0].field ?? null]).toEqual(field === null ? [201, null] : [400, field]);
  });

  test('has a description of at most 1000 bytes, however few characters these are', async () => {
    const t = await tableWorld(database);
    expect((await t.call('POST', '', { name: 'a', description: 'ä'.repeat(500) })).status).toBe(201);
    const { status, body } = await t.call('POST', '', { name: 'b', description: `${'ä'.repeat(500)}.` });
    expect([status, body.errors[0].field]).toEqual([400, 'description']);
  });

  test('may have a thousand columns, and not one more', async () => {
    const t = await tableWorld(database);
    const columns = Array.from({ length: columnsPerTableMax }, (_, at) => `n${at}:text:nullable`);
    const table = await t.table('wide', columns);
    expect((await t.call('GET', '/wide')).body.columns).toHaveLength(columnsPerTableMax + 3);
    expect((await physicalState(database, t.app)).columns[tableOf(table.id)]).toBe(columnsPerTableMax + 4);
    const added = await t.call('POST', '/wide/columns', 'more:text');
    expect([added.status, added.body.code]).toEqual([409, 'limit_reached']);
    expect((await t.call('POST', '', { name: 'wider', columns: [...columns, 'more:text'] })).status).toBe(
      400,
    );
  }, 20_000);

  test('is one of 200 at most', async () => {
    const t = await tableWorld(database);
    await t.table('first');
    await sql`insert into svc.app_tables (id, tenant_id, app_id, name, columns_made, attributes_made, created_by,
        created_at, updated_at)
      select gen_random_uuid(), ${t.tenant.id}, ${t.app.id}, 'x' || n, 0, 0, ${t.owner.userId}, now(), now()
      from generate_series(2, ${tablesPerAppMax}) n`.execute(database.db);
    const { status, body } = await t.call('POST', '', { name: 'one_more' });
    expect([status, body.code]).toEqual([409, 'limit_reached']);
  });
});

describe('names are the app’s own', () => {
  test('a name is taken once per app, also when two come at once', async () => {
    const t = await tableWorld(database);
    const both = await Promise.all([t.call('POST', '', { name: 'a' }), t.call('POST', '', { name: 'a' })]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(both.find(({ status }) => status === 409)?.body.code).toBe('unique_violation');
    const other = await newApp(database.db, t.tenant, t.owner);
    expect((await t.as(t.owner, other)('POST', '', { name: 'a' })).status).toBe(201);
  });

  test('ten first tables of an app at once are all made', async () => {
    const t = await tableWorld(database);
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, at) => t.call('POST', '', { name: `t${at}` })),
    );
    expect(made.map(({ status }) => status)).toEqual(Array(10).fill(201));
  });

  test('a table of another app is not there, by name or by id', async () => {
    const t = await tableWorld(database);
    const { id } = await t.table('a');
    const elsewhere = t.as(t.owner, await newApp(database.db, t.tenant, t.owner));
    for (const [method, path] of [
      ...[
        ['GET', '/a'],
        ['GET', `/${id}`],
        ['DELETE', `/${id}`],
        ['GET', `/${id}/grants`],
      ],
      ...[
        ['GET', `/${id}/indexes`],
        ['DELETE', `/${id}/columns/id`],
      ],
    ] as [string, string][]) {
      expect((await elsewhere(method, path)).status).toBe(404);
    }
    expect((await elsewhere('PATCH', `/${id}`, { description: 'mine' })).status).toBe(404);
    expect((await t.call('GET', '/nothing')).status).toBe(404);
  });

  test('a rename is known to the catalogue alone: it does not even wait for a lock on the table', async () => {
    const t = await tableWorld(database);
    const table = await t.table('a', ['x:int']);
    await t.table('b');
    const before = await physicalState(database, t.app);
    await withClient(database.url, async (client) => {
      await client.query(`begin; lock table ${physicalName(t.app, table)} in access exclusive mode`);
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

  test('a preview of its drop tells what is lost: rows, indexes and grants', async () => {
    const t = await tableWorld(database);
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
    const place = physicalName(t.app, table);
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

  test('a table that is dropped and made again under its name has nothing of the old one', async () => {
    const t = await tableWorld(database);
    const old = await t.table('a', ['x:int']);
    await t.call('POST', '/a/grants', {
      principal_type: 'role',
      principal_id: 'tenant_member',
      actions: ['read'],
    });
    const first = await catalogue(t, 'a');
    expect((await t.call('DELETE', '/a')).status).toBe(204);
    expect((await t.call('DELETE', '/a')).status).toBe(404);
    expect((await physicalState(database, t.app)).columns).toEqual({});
    const again = await t.table('a', ['x:text']);
    const second = await catalogue(t, 'a');
    expect([again.id === old.id, first?.table === second?.table]).toEqual([false, false]);
    expect((await t.call('GET', '/a/grants')).body.total).toBe(0);
  });
});

describe('catalogue and tables agree', () => {
  test('a table that can not be made leaves no entry behind', async () => {
    const t = await tableWorld(database);
    const schema = `"${schemaOf(t.app.id)}"`;
    await withClient(database.url, (client) =>
      client.query(`create schema ${schema}; revoke create on schema ${schema} from current_user`),
    );
    await expect(t.call('POST', '', { name: 'a' })).rejects.toThrow(/permission denied/);
    expect((await t.call('GET', '')).body.total).toBe(0);
  });

  test('a preview of any change leaves both as they were', async () => {
    const t = await tableWorld(database);
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

  test('a plan shows columns as they are written, and two plans of one change are the same', async () => {
    const t = await tableWorld(database);
    const body = { name: 'a', columns: ['x:int:nullable:5'] };
    const plan = async () => (await t.call('POST', '?dry_run=true', body)).body.plan;
    const first = await plan();
    expect(first.changes.find(({ path }: { path: string }) => path === 'columns').after).toEqual([
      ...['id:uuid', 'x:int:nullable:5', 'created_at:timestamptz', 'updated_at:timestamptz'],
    ]);
    expect((await plan()).fingerprint).toBe(first.fingerprint);
  });

  test('an archived app’s tables keep their shape; only grants can be ended', async () => {
    const t = await tableWorld(database);
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
