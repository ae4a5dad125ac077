import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import { withClient } from '../../drivers/database/connect.ts';
import { useTestDatabase } from '../../testing.ts';
import { physicalSchemaName } from './catalogue.ts';
import { newTestTables, physicalState, qualifiedTableName } from './testing.ts';

const database = useTestDatabase();

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
    const created = await Promise.all(
      Array.from({ length: 10 }, (_, at) => t.call('POST', '', { name: `t${at}` })),
    );
    expect(created.map(({ status }) => status)).toEqual(Array(10).fill(201));
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
    const physicalTable = qualifiedTableName(t.app, table);
    const fill = (count: number) =>
      withClient(database.url, (client) =>
        client.query(
          `insert into ${physicalTable} select gen_random_uuid(), n, now(), now(), 1 from generate_series(1, ${count}) n`,
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
