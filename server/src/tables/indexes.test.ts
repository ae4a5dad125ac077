import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { indexesPerTableMax } from '@svc/contract/columns.ts';
import { sql } from 'kysely';
import { type TestDatabase, testDatabase } from '../testing.ts';
import { indexOf } from './catalogue.ts';
import { loadCatalogue } from './load-catalogue.ts';
import { insertRow, physicalState, tableWorld } from './testing.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const id = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;

async function world() {
  const t = await tableWorld(database);
  const table = await t.table('a', ['x:int', 'y:text:nullable', 'doc:jsonb:nullable']);
  const add = (body: object) => t.call('POST', '/a/indexes', body);
  const row = (n: number, values: object) =>
    insertRow(database, t, table, { 1: id(n), 5: new Date(0), 6: new Date(0), ...values });
  return { ...t, id: table.id, add, row };
}

async function definition(indexId: string): Promise<string> {
  const { rows } = await sql<{ text: string }>`
    select pg_get_indexdef(oid) as text from pg_class where relname = ${indexOf(indexId)}`.execute(
    database.db,
  );
  return rows[0]?.text.replace(/^.* USING /, '') ?? '';
}

describe('an index', () => {
  test('is listed by name, and its keys end with the id so that sorted pages are read off it', async () => {
    const t = await world();
    const { status, body } = await t.add({ columns: ['y', 'x'] });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.any(String),
        name: 'y_x_idx',
        columns: ['y', 'x'],
        unique: false,
        created_at: expect.any(String),
      },
    ]);
    expect(await definition(body.id)).toBe('btree (c3, c2, c1)');
    const named = (await t.add({ columns: ['x'], name: 'by_x' })).body;
    expect((await t.call('GET', '/a/indexes')).body).toEqual({
      ...{ items: [named, body], page: 1, per_page: 50, total: 2 },
    });
    expect((await t.call('GET', '/a')).body.version).toBe(3);
  });

  test('that is unique has its columns alone, and is one that a conflict can be told by', async () => {
    const t = await world();
    const { body } = await t.add({ columns: ['x'], unique: true });
    expect([body.name, await definition(body.id)]).toEqual(['x_key', 'btree (c2)']);
    await t.add({ columns: ['y'] });
    const table = await loadCatalogue(database.db, { tenantId: t.tenant.id, appId: t.app.id, name: 'a' });
    expect(table?.unique.map(({ physical, columns }) => [physical, columns.map((it) => it.name)])).toEqual([
      [indexOf(body.id), ['x']],
    ]);
    await t.row(1, { 2: 1 });
    expect(t.row(2, { 2: 1 })).rejects.toThrow(/duplicate key/);
  });

  test('over a jsonb column stands alone and serves containment', async () => {
    const t = await world();
    const { body } = await t.add({ columns: ['doc'] });
    expect(await definition(body.id)).toBe('gin (c4 jsonb_path_ops)');
    for (const refused of [{ columns: ['doc', 'x'] }, { columns: ['doc'], unique: true }]) {
      expect((await t.add(refused)).body.errors[0].field).toBe('columns');
    }
  });

  test('is not made unique over rows that are not, and leaves nothing of itself', async () => {
    const t = await world();
    await t.row(1, { 2: 1, 3: 'same' });
    await t.row(2, { 2: 2, 3: 'same' });
    const before = await physicalState(database, t.app);
    const { status, body } = await t.add({ columns: ['y'], unique: true });
    expect([status, body.code, body.detail.includes('same values')]).toEqual([409, 'unique_violation', true]);
    expect((await t.call('GET', '/a/indexes')).body.total).toBe(0);
    expect(await physicalState(database, t.app)).toEqual(before);
    await t.row(3, { 2: 3, 3: null });
    await t.row(4, { 2: 4, 3: null });
    expect((await t.add({ columns: ['x', 'y'], unique: true })).status).toBe(201);
  });

  test('is refused over a value that no index holds', async () => {
    const t = await world();
    // Long, and not to be compressed.
    const bytes = crypto.getRandomValues(new Uint8Array(9_000));
    await t.row(1, { 2: 1, 3: Buffer.from(bytes).toString('hex') });
    const { status, body } = await t.add({ columns: ['y'] });
    expect([status, body.errors[0].code]).toEqual([400, 'too_long']);
  });

  test.each<[object, string]>([
    [{ columns: ['x', 'nothing'] }, 'columns.1'],
    [{ columns: ['x', 'y', 'x'] }, 'columns.2'],
    [{ columns: [] }, 'columns'],
    [{ columns: ['x'], name: 'No' }, 'name'],
    [{ columns: ['x'], where: 'x > 1' }, 'where'],
  ])('%p is refused', async (body, field) => {
    const t = await world();
    const answer = await t.add(body);
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
  });

  test('has a name of its own in the table, and there are at most 32', async () => {
    const t = await world();
    await t.add({ columns: ['x'], name: 'one' });
    expect((await t.add({ columns: ['y'], name: 'one' })).body.code).toBe('unique_violation');
    expect((await t.add({ columns: ['x'] })).body.name).toBe('x_idx');
    expect((await t.add({ columns: ['x'] })).body.name).toBe('x_idx2');
    await sql`insert into svc.app_table_indexes (id, tenant_id, table_id, name, columns, is_unique, created_at)
      select gen_random_uuid(), ${t.tenant.id}, ${t.id}, 'n' || n, '{2}', false, now()
      from generate_series(4, ${indexesPerTableMax}) n`.execute(database.db);
    expect((await t.add({ columns: ['y'] })).body.code).toBe('limit_reached');
  });

  test('is dropped by name or id, once', async () => {
    const t = await world();
    const one = (await t.add({ columns: ['x'] })).body;
    const two = (await t.add({ columns: ['y'] })).body;
    expect((await t.call('DELETE', `/a/indexes/${one.name}`)).status).toBe(204);
    expect((await t.call('DELETE', `/a/indexes/${two.id.toUpperCase()}`)).status).toBe(204);
    expect((await t.call('DELETE', `/a/indexes/${one.name}`)).status).toBe(404);
    const { indexes } = await physicalState(database, t.app);
    expect(indexes.filter((name) => name.startsWith('i_'))).toEqual([]);
  });
});
