import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { foreseen, isOnCitus } from './support/citus.ts';
import { svcFor } from './support/commands.ts';
import { setApp } from './support/database.ts';
import { bearer, done, newMember } from './support/people.ts';
import { rowsWorld } from './support/rows.ts';

const world = useFixture(rowsWorld);

const missing = '00000000-0000-7000-8000-000000000000';

async function authorsAndBooks(books: (authors: string) => string = (authors) => `author:ref:${authors}`) {
  const authors = await world.table(['name:text']);
  const other = await world.table(['title:text', books(authors.name)]);
  const [ada] = await authors.insert({ name: 'Ada' });
  return { authors, books: other, ada };
}

describe('a column that refers to another table', () => {
  test('has the type of the ids there, an index, and its form in the record', async () => {
    for (const [id, type] of [
      [[], 'uuid'],
      [['id:int'], 'int'],
      [['id:bigint'], 'bigint'],
      [['id:text'], 'text'],
    ] as const) {
      const target = await world.table([...id, 'name:text']);
      const table = await world.table([
        `a:ref:${target.name}`,
        `b:ref:${target.name}:nullable(on_delete=set_null)`,
        { name: 'c', type: `ref:${target.name}`, on_delete: 'cascade' },
      ]);
      const { columns } = await done(table.shape('GET'));
      const shared = { type: `ref:${target.name}`, default: null, value_type: type, generated: false };
      expect(columns.filter(({ name }: { name: string }) => name.length === 1)).toEqual([
        { name: 'a', nullable: false, on_delete: 'restrict', ...shared },
        { name: 'b', nullable: true, on_delete: 'set_null', ...shared },
        { name: 'c', nullable: false, on_delete: 'cascade', ...shared },
      ]);
      const { items } = await done(table.shape('GET', '/indexes'));
      expect(items.map((index: { columns: string[] }) => index.columns)).toEqual([['a'], ['b'], ['c']]);
    }
  });

  test('is refused where it cannot be', async () => {
    const { authors } = await authorsAndBooks();
    const wrong = [
      'x:ref:nowhere',
      'x:ref',
      'x:ref:',
      `x:ref:${authors.name}:default`,
      `x:ref:${authors.name}(on_delete=set_null)`,
      `x:ref:${authors.name}(on_delete=explode)`,
      { name: 'x', type: `ref:${authors.name}`, default: 'x' },
      { name: 'x', type: 'int', on_delete: 'cascade' },
      { name: 'x', type: `ref:${authors.name}`, checks: { min: 1 } },
      { name: 'id', type: `ref:${authors.name}` },
    ];
    for (const column of wrong) {
      const { status, body } = await world.owner.call('POST', world.tables, {
        name: 'wrong',
        columns: [column],
      });
      expect([column, status, body.code]).toEqual([column, 400, 'validation_failed']);
    }
    const owned = { name: 'wrong', columns: [`x:ref:${authors.name}`], owner_column: 'x' };
    expect((await world.owner.call('POST', world.tables, owned)).status).toBe(400);
  });

  test('accepts only rows that exist, in every kind of write', async () => {
    const { authors, books, ada } = await authorsAndBooks();
    const named = (body: { code: string; errors: { column: string; code: string }[] }) => [
      body.code,
      body.errors[0]?.column,
      body.errors[0]?.code,
    ];
    const expected = ['validation_failed', 'author', 'reference_violation'];
    const [book] = await books.insert({ title: 'A', author: ada.id });
    const bad = { title: 'B', author: missing };
    const answers = [
      await books.send('POST', '', bad),
      await books.send(
        'POST',
        '?on_conflict=id',
        { ...bad, id: book.id },
        { prefer: 'resolution=merge-duplicates' },
      ),
      await books.send('PATCH', `/${book.id}`, { author: missing }),
      await books.send('PATCH', '?title=eq.A', { author: missing }),
    ];
    for (const { status, body } of answers) expect([status, ...named(body)]).toEqual([400, ...expected]);
    const lines = `${JSON.stringify({ title: 'ok', author: ada.id })}\n${JSON.stringify(bad)}`;
    const batch = await books.send('POST', '', lines, { 'content-type': 'application/x-ndjson' });
    expect([batch.status, ...named(batch.body)]).toEqual([400, ...expected]);
    const operations = [
      { op: 'insert', table: authors.name, as: 'new', values: { name: 'Eve' } },
      { op: 'insert', table: books.name, values: { title: 'C', author: { $ref: 'new.id' } } },
    ];
    await done(world.owner.call('POST', `${world.data}/_batch`, { operations }));
    const failing = [{ op: 'insert', table: books.name, values: bad }];
    const atomic = await world.owner.call('POST', `${world.data}/_batch`, { operations: failing });
    expect([atomic.status, atomic.body.detail]).toEqual([400, expect.stringContaining('author')]);
    expect((await books.list('?sort=title')).map(({ title }) => title)).toEqual(['A', 'C']);
    expect((await books.send('POST', '', { title: 'x', author: 5 })).body.errors[0].code).toBe(
      'invalid_value',
    );
  });

  test('protects the row: the deletion is refused, deletes with it, or leaves a null with a new version', async () => {
    const { authors, books, ada } = await authorsAndBooks();
    await books.insert({ title: 'A', author: ada.id });
    const refused = await authors.send('DELETE', `/${ada.id}`);
    expect([refused.status, refused.body.code, refused.body.detail]).toEqual([
      409,
      'row_in_use',
      `Rows of ${books.name} refer to this row by author.`,
    ]);
    expect(refused.body.errors[0].field).toBe(`${books.name}.author`);
    expect((await authors.send('DELETE', '?name=eq.Ada')).body.code).toBe('row_in_use');

    const cascade = await authorsAndBooks((name) => `author:ref:${name}(on_delete=cascade)`);
    await cascade.books.insert({ title: 'A', author: cascade.ada.id });
    expect((await cascade.authors.send('DELETE', `/${cascade.ada.id}`)).status).toBe(204);
    expect(await cascade.books.list()).toEqual([]);

    const nulls = await authorsAndBooks((name) => `author:ref:${name}:nullable(on_delete=set_null)`);
    const [book] = await nulls.books.insert({ title: 'A', author: nulls.ada.id });
    const before = await nulls.books.send('GET', `/${book.id}`);
    expect((await nulls.authors.send('DELETE', `/${nulls.ada.id}`)).status).toBe(204);
    const after = await nulls.books.send('GET', `/${book.id}`, undefined, {
      'if-none-match': before.headers.get('etag') ?? '',
    });
    expect([after.status, after.body.author]).toEqual([200, null]);
    expect(after.body.updated_at > book.updated_at).toBe(true);
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
  });

  test('is followed by the plan of a deletion, as far as the caller sees the rows', async () => {
    const { authors, books, ada } = await authorsAndBooks((name) => `author:ref:${name}(on_delete=cascade)`);
    const pages = await world.table([`book:ref:${books.name}(on_delete=cascade)`]);
    const prizes = await world.table([`won_by:ref:${authors.name}:nullable(on_delete=set_null)`]);
    const [one, two] = await books.insert({ title: 'A', author: ada.id }, { title: 'B', author: ada.id });
    await pages.insert({ book: one.id }, { book: one.id }, { book: two.id });
    await prizes.insert({ won_by: ada.id });
    const warningsOf = async (path: string, send = authors.send) =>
      (await done(send('DELETE', `${path}dry_run=true`))).plan.warnings;
    const all = foreseen([
      `Deletes 2 rows of ${books.name} as well.`,
      `Deletes 3 rows of ${pages.name} as well.`,
      `Clears the references of 1 row of ${prizes.name}.`,
    ]);
    expect(await warningsOf(`/${ada.id}?`)).toEqual(all);
    expect(await warningsOf('?name=eq.Ada&')).toEqual(all);
    const svc = svcFor(world.server, { token: world.owner.token, tenant: world.tenant.slug });
    const shown = await svc(['rows', 'delete', authors.name, ada.id, '--app', world.app.slug]);
    for (const text of all) expect(shown.stdout + shown.stderr).toContain(text);

    // Somebody who sees only some of the rows learns what can happen, and nothing about others' rows.
    const reader = await newMember(world.tenant);
    await setApp(world.server, world.app.id, { visibility: 'public' });
    await done(authors.shape('PUT', '/access', { preset: 'read-write' }));
    await done(books.shape('PUT', '/access', { read: ['title=eq.A'], write: ['none'] }));
    await done(pages.shape('PUT', '/access', { preset: 'closed' }));
    await done(prizes.shape('PUT', '/access', { preset: 'closed' }));
    const token = await world.through(reader);
    const some = [`Rows of ${books.name} that refer to deleted rows are deleted as well.`];
    const send = world.as(bearer({ token }), authors);
    expect(await warningsOf(`/${ada.id}?`, send)).toEqual(some);
    const [zoe] = await authors.insert({ name: 'Zoe' });
    expect(await warningsOf(`/${zoe.id}?`, send)).toEqual(some);
    expect(await warningsOf(`/${zoe.id}?`)).toEqual(isOnCitus ? all : []);

    const { plan } = await done(authors.send('DELETE', `/${ada.id}?dry_run=true`));
    await pages.insert({ book: two.id });
    // Without numbers, the plan stays the same.
    if (isOnCitus) return;
    const header = { 'if-plan': `"${plan.fingerprint}"` };
    const stale = await authors.send('DELETE', `/${ada.id}`, undefined, header);
    expect([stale.status, stale.body.code]).toEqual([409, 'plan_stale']);
    const now = (await done(authors.send('DELETE', `/${ada.id}?dry_run=true`))).plan.fingerprint;
    expect((await authors.send('DELETE', `/${ada.id}`, undefined, { 'if-plan': `"${now}"` })).status).toBe(
      204,
    );
    expect([await books.list(), await pages.list()]).toEqual([[], []]);
  });

  test('of a table to itself counts the rows below', async () => {
    const tree = await world.table(['name:text']);
    await done(
      tree.shape('POST', '/columns', JSON.stringify(`up:ref:${tree.name}:nullable(on_delete=cascade)`)),
    );
    const [top] = await tree.insert({ name: 'top' });
    const [left] = await tree.insert({ name: 'left', up: top.id }, { name: 'right', up: top.id });
    await tree.insert({ name: 'leaf', up: left.id });
    const plan = async (path: string) => (await done(tree.send('DELETE', path))).plan.warnings;
    expect(await plan(`/${top.id}?dry_run=true`)).toEqual(
      foreseen([`Deletes 3 rows of ${tree.name} as well.`]),
    );
    expect(await plan('?name=in.(left,right)&dry_run=true')).toEqual(
      foreseen([`Deletes 1 row of ${tree.name} as well.`]),
    );
  });

  test('is followed by the plan of a batch, which sums its deletions', async () => {
    const { authors, books, ada } = await authorsAndBooks((name) => `author:ref:${name}(on_delete=cascade)`);
    const shops = await world.table(['name:text']);
    const offers = await world.table([
      `book:ref:${books.name}(on_delete=cascade)`,
      `shop:ref:${shops.name}:nullable(on_delete=set_null)`,
    ]);
    const [zoe] = await authors.insert({ name: 'Zoe' });
    const [shop] = await shops.insert({ name: 'corner' });
    const [one, two, three] = await books.insert(
      { title: 'A', author: ada.id },
      { title: 'B', author: zoe.id },
      { title: 'C', author: zoe.id },
    );
    const [offer] = await offers.insert(
      { book: one.id, shop: shop.id },
      { book: two.id },
      { book: three.id, shop: shop.id },
    );
    const remove = (table: { name: string }, { id }: { id: string }) => ({
      op: 'delete',
      table: table.name,
      id,
    });
    const batch = async (operations: object[], headers: Record<string, string> = {}, query = '') =>
      world.owner.call('POST', `${world.data}/_batch${query}`, { operations }, headers);
    const operations = [
      { op: 'insert', table: books.name, values: { title: 'D', author: ada.id } },
      { op: 'update', table: offers.name, id: offer.id, values: { shop: null } },
      remove(shops, shop),
      remove(authors, ada),
      remove(authors, zoe),
    ];
    const { plan } = await done(batch(operations, {}, '?dry_run=true'));
    expect(plan.warnings).toEqual(
      foreseen([
        `Deletes 3 rows of ${offers.name} as well.`,
        `Clears the references of 1 row of ${offers.name}.`,
        `Deletes 4 rows of ${books.name} as well.`,
      ]),
    );
    // Without numbers, the plan stays the same.
    if (isOnCitus) return;
    const ifPlan = { 'if-plan': `"${plan.fingerprint}"` };
    const [more] = await books.insert({ title: 'E', author: zoe.id });
    expect((await batch(operations, ifPlan)).body.code).toBe('plan_stale');
    await done(books.send('DELETE', `/${more.id}`));
    expect((await batch(operations, ifPlan)).status).toBe(200);
    expect([await books.list(), await offers.list()]).toEqual([[], []]);
    // Without a deletion that reaches others there is nothing to say.
    const [ben] = await authors.insert({ name: 'Ben' });
    expect((await done(batch([remove(authors, ben)], {}, '?dry_run=true'))).plan.warnings).toEqual([]);
  });

  test('is added to a table with rows, changed and dropped', async () => {
    const { authors, books, ada } = await authorsAndBooks((name) => `author:ref:${name}:nullable`);
    await books.insert({ title: 'A', author: ada.id });
    const other = await world.table(['n:int', 'author:uuid:nullable']);
    await other.insert({ n: 1 }, { n: 2, author: missing });
    await done(other.shape('POST', '/columns', JSON.stringify(`book:ref:${books.name}:nullable`)));
    expect(await other.list(`?select=n,book(title)&n=1`)).toEqual([{ n: 1, book: null }]);

    const link = { type: `ref:${authors.name}` };
    expect((await other.shape('PATCH', '/columns/author', link)).body.code).toBe('check_violation');
    await done(other.send('PATCH', '?n=eq.2', { author: ada.id }));
    const linked = await done(other.shape('PATCH', '/columns/author', { ...link, on_delete: 'cascade' }));
    expect(linked.columns.find(({ name }: { name: string }) => name === 'author')).toMatchObject({
      ...link,
      on_delete: 'cascade',
      value_type: 'uuid',
    });
    expect(await other.list('?select=n,author(name)&sort=n')).toEqual([
      { n: 1, author: null },
      { n: 2, author: { name: 'Ada' } },
    ]);
    expect((await other.shape('PATCH', '/columns/n', link)).body.code).toBe('type_change_refused');
    await done(other.shape('PATCH', '/columns/author', { on_delete: 'set_null' }));
    expect((await other.shape('PATCH', '/columns/author', { nullable: false })).status).toBe(400);
    await done(books.shape('PATCH', '/columns/author', { on_delete: 'set_null' }));
    expect((await authors.send('DELETE', `/${ada.id}`)).status).toBe(204);
    expect(await other.list('?select=author&n=2')).toEqual([{ author: null }]);

    await done(other.shape('PATCH', '/columns/author', { type: 'uuid' }));
    await done(other.send('PATCH', '?n=eq.2', { author: missing }));
    expect((await other.send('GET', '?select=author(name)')).status).toBe(400);
    await done(books.shape('PATCH', '/columns/author', { type: 'text' }));
    await done(other.shape('DELETE', '/columns/book'));
    expect((await authors.shape('DELETE')).status).toBe(204);
  });

  test('keeps the table that it refers to, under every name', async () => {
    const { authors, books, ada } = await authorsAndBooks();
    await books.insert({ title: 'A', author: ada.id });
    const refused = await authors.shape('DELETE');
    expect([refused.status, refused.body.code]).toEqual([409, 'table_in_use']);
    expect(refused.body.detail).toContain(`${books.name}.author`);
    await done(authors.shape('PATCH', '', { name: `${authors.name}_x` }));
    const { columns } = await done(books.shape('GET'));
    expect(columns.find(({ name }: { name: string }) => name === 'author').type).toBe(
      `ref:${authors.name}_x`,
    );
    expect(await books.list('?select=author(name)')).toEqual([{ author: { name: 'Ada' } }]);
    await done(books.shape('PATCH', '/columns/author', { name: 'writer' }));
    expect(await books.list('?select=writer(name)')).toEqual([{ writer: { name: 'Ada' } }]);
    await done(books.shape('DELETE'));
    expect((await world.owner.call('DELETE', `${world.tables}/${authors.name}_x`)).status).toBe(204);
  });

  test('survives a change of type that copies a table, on both sides', async () => {
    const { authors, books, ada } = await authorsAndBooks(
      (name) => `author:ref:${name}:nullable(on_delete=set_null)`,
    );
    await done(authors.shape('POST', '/columns', JSON.stringify('n:int:5')));
    await done(books.shape('POST', '/columns', JSON.stringify('n:int:5')));
    await books.insert({ title: 'A', author: ada.id });
    for (const table of [authors, books]) await done(table.shape('PATCH', '/columns/n', { type: 'bigint' }));
    expect((await books.send('POST', '', { title: 'B', author: missing })).body.errors[0].column).toBe(
      'author',
    );
    const [before] = await books.list();
    expect((await authors.send('DELETE', `/${ada.id}`)).status).toBe(204);
    const [after] = await books.list();
    expect(after).toEqual({ ...before, author: null, updated_at: after.updated_at });
    expect(after.updated_at).not.toBe(before.updated_at);
  });

  test('is declared in any order, also between tables that refer to each other', async () => {
    const apply = world.tables.replace(/\/tables$/, '/schema');
    const tables = {
      x_teams: { columns: ['name:text', 'lead:ref:x_people:nullable'] },
      x_people: {
        columns: ['name:text', 'team:ref:x_teams', 'boss:ref:x_people:nullable(on_delete=set_null)'],
      },
    };
    const first = await done(world.owner.call('POST', apply, { tables }));
    expect(first.created.toSorted()).toEqual(['x_people', 'x_teams']);
    const again = await done(world.owner.call('POST', apply, { tables }));
    expect(again).toMatchObject({ created: [], columns: [], rules: [], changed: false, steps: [] });
    const differs = { tables: { x_people: tables.x_people, x_teams: tables.x_teams } };
    const { steps } = await done(world.owner.call('POST', `${apply}/check`, differs));
    expect(steps.filter(({ table }: { table: string }) => table.startsWith('x_'))).toEqual([]);
    const exported = await done(world.owner.call('GET', apply));
    expect(exported.tables.x_people.indexes).toBeUndefined();
    expect(exported.tables.x_people.columns).toContain('boss:ref:x_people:nullable(on_delete=set_null)');
    expect(exported.tables.x_teams.columns).toContain('lead:ref:x_people:nullable');
  });
});
