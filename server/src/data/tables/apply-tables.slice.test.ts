import { describe, expect, test } from 'bun:test';
import { useTestDatabase } from '../../testing.ts';
import { tableRoutes } from '../routes.ts';
import { appCalls } from '../testing.ts';
import { insertRow, newTestTables, physicalState } from './testing.ts';

const database = useTestDatabase();
const id = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;
const times = { 4: new Date(0), 5: new Date(0) };

async function newSchema() {
  const t = await newTestTables(database);
  const call = appCalls(database, t, { routes: tableRoutes, path: '/schema' })(t.owner, t.app);
  const exported = async () => (await call('GET', '')).body.tables;
  return {
    ...t,
    exported,
    apply: (tables: object, more: object = {}) => call('POST', '', { tables, ...more }),
    check: (tables: object) => call('POST', '/check', { tables }),
    preview: (tables: object, more: object) => call('POST', '?dry_run=true', { tables, ...more }),
    state: async () => ({ tables: await exported(), physical: await physicalState(database, t.app) }),
  };
}

const steps = ({ body }: { body: { steps: { text: string }[] } }) => body.steps.map(({ text }) => text);
const all = { prune: true, allow_destructive: true };

describe('a declared schema', () => {
  test('covers columns, indexes, rules and descriptions, and a second time changes nothing', async () => {
    const t = await newSchema();
    const tables = {
      menu: {
        description: 'Dishes',
        columns: ['dish:text(max_length=40)', 'price:int:nullable', 'kind:enum(hot,cold):hot'],
        indexes: ['dish:unique', { name: 'by_price', columns: ['price', 'kind'] }],
        access: { read: ['any'], write: ['role:cook'] },
      },
    };
    expect((await t.apply(tables)).body).toMatchObject({ created: ['menu'], changed: true });
    const again = await t.apply(tables);
    expect(again.body).toEqual({ created: [], columns: [], rules: [], changed: false, steps: [], left: [] });
    expect((await t.check(tables)).body).toEqual({ differs: false, steps: [] });
    expect((await t.exported()).menu).toMatchObject({
      columns: ['dish:text(max_length=40)', 'price:int:nullable', 'kind:enum(hot,cold):hot'],
      indexes: [
        { name: 'by_price', columns: ['price', 'kind'] },
        { name: expect.any(String), columns: ['dish'], unique: true },
      ],
    });
  });

  test('covers references, searches, feeds, history and trash, and its own export', async () => {
    const t = await newSchema();
    const tables = {
      posts: {
        columns: ['title:text', 'body:text', 'author:ref:people:nullable(on_delete=set_null)'],
        changes: true,
        history: '30d',
        soft_delete: '7d',
        indexes: [{ search: { title: 'A', body: 'B' }, language: 'german' }],
      },
      people: { columns: ['name:text', 'best:ref:posts:nullable'] },
    };
    expect((await t.apply(tables)).status).toBe(200);
    expect((await t.check(tables)).body).toEqual({ differs: false, steps: [] });
    const exported = await t.exported();
    expect((await t.apply(exported, all)).body.changed).toBe(false);
    expect(exported).toMatchObject({
      posts: {
        ...tables.posts,
        indexes: [{ name: 'title_body_search', search: { title: 'A', body: 'B' }, language: 'german' }],
      },
      people: tables.people,
    });
    const changed = {
      writings: {
        ...tables.posts,
        was: 'posts',
        columns: ['title:text', 'body:text', 'author:ref:people(on_delete=cascade)'],
        history: '10d',
        indexes: [{ search: { title: 'A' } }],
      },
      people: { columns: ['name:text', 'best:uuid:nullable'] },
    };
    expect((await t.apply(changed)).body.code).toBe('destructive_change');
    expect(steps(await t.apply(changed, all))).toEqual([
      'rename table posts to writings',
      'change column writings.author from ref:people:nullable(on_delete=set_null) to ref:people(on_delete=cascade)',
      'change column people.best from ref:writings:nullable to uuid:nullable',
      'replace in writings the search index (title:A, body:B) in german title_body_search by the search index (title:A) in simple',
      'drop from people the index (best) best_idx',
      'set history=10d of writings',
    ]);
    expect((await t.check(changed)).body).toEqual({ differs: false, steps: [] });
    expect((await t.apply({}, all)).status).toBe(200);
    expect(await t.exported()).toEqual({});
  });

  test('drops tables that refer to each other, with rules for these columns', async () => {
    const t = await newSchema();
    const columns = ['x:uuid:nullable'];
    const access = { read: ['other=is.null'] };
    await t.apply({
      a: { columns: [...columns, 'other:ref:b:nullable'], access },
      b: { columns: [...columns, 'other:ref:a:nullable'], access },
    });
    expect((await t.check({ a: {}, b: {} })).body.differs).toBe(false);
    expect((await t.apply({}, all)).body.steps).toHaveLength(2);
    expect(await t.exported()).toEqual({});
  });

  test('renames tables and columns by `was` once, with their rules, indexes and rows', async () => {
    const t = await newSchema();
    await t.apply({ a: { columns: ['x:int', 'y:text'], indexes: ['x'], access: { read: ['x=gt.1'] } } });
    const { id: tableId } = (await t.call('GET', '/a')).body;
    const renamed = {
      b: {
        was: 'a',
        columns: [{ name: 'z', type: 'int', was: 'x' }, 'y:text'],
        indexes: ['z'],
        access: { read: ['z=gt.1'] },
      },
    };
    expect(steps(await t.check(renamed))).toEqual(['rename table a to b', 'rename column b.x to z']);
    expect((await t.apply(renamed)).status).toBe(200);
    expect((await t.call('GET', '/b')).body.id).toBe(tableId);
    expect((await t.exported()).b.access.read).toEqual(['z=gt.1']);
    expect((await t.apply(renamed, all)).body.changed).toBe(false);
    const refused = await t.apply({ b: { columns: ['q:int', { name: 'z', type: 'int', was: 'q' }] } });
    expect([refused.status, refused.body.code]).toEqual([400, 'validation_failed']);
  });

  test('drops only with prune, and what loses values only if that is allowed', async () => {
    const t = await newSchema();
    await t.apply({ a: { columns: ['x:int', 'y:int'], indexes: ['x'] }, b: { columns: ['x:int'] } });
    const less = { a: { columns: ['x:int'] } };
    const kept = await t.apply(less);
    expect([kept.body.changed, kept.body.left.map(({ text }: { text: string }) => text)]).toEqual([
      false,
      [expect.stringContaining('drop from a the index (x)'), 'drop column a.y', 'drop table b'],
    ]);
    const before = await t.state();
    const refused = await t.apply(less, { prune: true });
    expect([refused.status, refused.body.code, refused.body.errors.length]).toEqual([
      409,
      'destructive_change',
      2,
    ]);
    expect(await t.state()).toEqual(before);
    expect((await t.apply(less, all)).status).toBe(200);
    expect(await t.exported()).toEqual({ a: { columns: ['x:int'], access: 'read-only' } });
  });

  test('has an irreversible plan only where a step loses values', async () => {
    const t = await newSchema();
    const table = { columns: ['x:text', 'y:int'], indexes: ['x'], history: '30d', soft_delete: '7d' };
    await t.apply({ a: table, b: { columns: ['x:int'] } });
    const plan = async (tables: object, more: object = all) => {
      const { body } = await t.preview(tables, more);
      return [body.plan.irreversible, body.plan.warnings];
    };
    const b = { columns: ['x:int'] };
    expect(await plan({ a: { ...table, indexes: [] }, b })).toEqual([false, []]);
    expect(await plan({ a: { ...table, history: '60d', changes: true }, b })).toEqual([false, []]);
    // Without `prune` the warning only names what stays.
    expect(await plan({ a: { columns: ['x:text'] } }, {})).toEqual([
      false,
      [expect.stringContaining('kept without --prune: ')],
    ]);
    expect(await plan({ a: table })).toEqual([true, ['Destructive: drop table b.']]);
    expect(await plan({ a: { ...table, columns: ['x:text'] }, b })).toEqual([
      true,
      ['Destructive: drop column a.y.'],
    ]);
    expect(await plan({ a: { ...table, columns: ['x:int', 'y:int'] }, b })).toEqual([
      true,
      ['Destructive: change column a.x from text to int.'],
    ]);
    expect(await plan({ a: { ...table, history: null }, b })).toEqual([
      true,
      ['The history of a is lost.', 'Destructive: set history=none of a.'],
    ]);
  });

  test('changes types, checks, defaults and nullability; a value that cannot be converted stops all of it', async () => {
    const t = await newSchema();
    await t.apply({
      a: { columns: ['x:text', 'y:text:nullable'] },
      z: { columns: ['n:text', 'y:text:nullable'] },
    });
    const a = (await t.call('GET', '/a')).body;
    const z = (await t.call('GET', '/z')).body;
    await insertRow(database, t, a, { 1: id(1), 2: '12', 3: 'one', ...times });
    await insertRow(database, t, z, { 1: id(1), 2: 'many', 3: null, ...times });
    const before = await t.state();
    const toInt = {
      a: { columns: ['x:int(min=1)', 'y:text'] },
      z: { columns: ['n:int', 'y:text:nullable'] },
    };
    expect((await t.apply(toInt)).body.code).toBe('destructive_change');
    const failed = await t.apply(toInt, all);
    expect([failed.body.code, failed.body.detail]).toEqual([
      'type_change_refused',
      'change column z.n from text to int: z.n has a value that cannot become int.',
    ]);
    expect(await t.state()).toEqual(before);
    const broken = await t.apply({ a: { columns: ['x:text(min_length=3)'] }, n: { columns: ['x:int'] } });
    expect(broken.body.code).toBe('check_violation');
    expect(await t.state()).toEqual(before);
    expect((await t.apply({ a: toInt.a }, { allow_destructive: true })).status).toBe(200);
    expect((await t.exported()).a.columns).toEqual(['x:int(min=1)', 'y:text']);
  });
});
