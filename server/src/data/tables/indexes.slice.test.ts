import { describe, expect, test } from 'bun:test';
import { indexesPerTableMax } from '@svc/contract/columns.ts';
import { sql } from 'kysely';
import { useTestDatabase } from '../../testing.ts';
import { physicalIndexName } from './catalogue.ts';
import { insertRow, newTestTables, physicalState } from './testing.ts';

const database = useTestDatabase();

const id = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;

async function newIndexedTable() {
  const t = await newTestTables(database);
  const table = await t.table('a', ['x:int', 'y:text:nullable', 'doc:jsonb:nullable']);
  const add = (body: object) => t.call('POST', '/a/indexes', body);
  const row = (n: number, values: object) =>
    insertRow(database, t, table, { 1: id(n), 5: new Date(0), 6: new Date(0), ...values });
  return { ...t, id: table.id, add, row };
}

async function definition(indexId: string): Promise<string> {
  const { rows } = await sql<{ text: string }>`
    select pg_get_indexdef(oid) as text from pg_class where relname = ${physicalIndexName(indexId)}`.execute(
    database.db,
  );
  return rows[0]?.text.replace(/^.* USING /, '') ?? '';
}

describe('an index', () => {
  test('is listed by name and has the id as last key', async () => {
    const t = await newIndexedTable();
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
      items: [named, body],
      page: 1,
      per_page: 50,
      total: 2,
    });
    expect((await t.call('GET', '/a')).body.version).toBe(3);
  });

  test('that is unique has only its own columns and is in the catalogue', async () => {
    const t = await newIndexedTable();
    const { body } = await t.add({ columns: ['x'], unique: true });
    expect([body.name, await definition(body.id)]).toEqual(['x_key', 'btree (c2)']);
    await t.add({ columns: ['y'] });
    const table = await t.catalogue('a');
    expect(table?.unique.map(({ physical, columns }) => [physical, columns.map((it) => it.name)])).toEqual([
      [physicalIndexName(body.id), ['x']],
    ]);
    await t.row(1, { 2: 1 });
    expect(t.row(2, { 2: 1 })).rejects.toThrow(/duplicate key/);
  });

  test('over jsonb has one column and supports containment', async () => {
    const t = await newIndexedTable();
    const { body } = await t.add({ columns: ['doc'] });
    expect(await definition(body.id)).toBe('gin (c4 jsonb_path_ops)');
    for (const refused of [{ columns: ['doc', 'x'] }, { columns: ['doc'], unique: true }]) {
      expect((await t.add(refused)).body.errors[0].field).toBe('columns');
    }
  });

  test('cannot be unique over duplicate rows, and a failure leaves nothing', async () => {
    const t = await newIndexedTable();
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

  test('is refused if a value is too long for an index', async () => {
    const t = await newIndexedTable();
    // Random, so that PostgreSQL cannot compress it.
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
    const t = await newIndexedTable();
    const answer = await t.add(body);
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
  });

  test('has a unique name in the table, and there are at most 32', async () => {
    const t = await newIndexedTable();
    await t.add({ columns: ['x'], name: 'one' });
    expect((await t.add({ columns: ['y'], name: 'one' })).body.code).toBe('unique_violation');
    expect((await t.add({ columns: ['x'] })).body.name).toBe('x_idx');
    expect((await t.add({ columns: ['x'] })).body.name).toBe('x_idx2');
    await sql`insert into svc.app_table_indexes (id, tenant_id, table_id, name, columns, is_unique, created_at)
      select gen_random_uuid(), ${t.tenant.id}, ${t.id}, 'n' || n, '{2}', false, now()
      from generate_series(4, ${indexesPerTableMax}) n`.execute(database.db);
    expect((await t.add({ columns: ['y'] })).body.code).toBe('limit_reached');
  });

  test('can be dropped by name or id', async () => {
    const t = await newIndexedTable();
    const one = (await t.add({ columns: ['x'] })).body;
    const two = (await t.add({ columns: ['y'] })).body;
    expect((await t.call('DELETE', `/a/indexes/${one.name}`)).status).toBe(204);
    expect((await t.call('DELETE', `/a/indexes/${two.id.toUpperCase()}`)).status).toBe(204);
    expect((await t.call('DELETE', `/a/indexes/${one.name}`)).status).toBe(404);
    const { indexes } = await physicalState(database, t.app);
    expect(indexes.filter((name) => name.startsWith('i_'))).toEqual([]);
  });
});
